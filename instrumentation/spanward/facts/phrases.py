"""How tools say that they failed, in the languages they say it in. Data only; :mod:`spanward.facts.signs` reads it.

All entries are lower case and are compared with lower-cased text in which typographic apostrophes are plain ones. The
anchors are what keeps a text that merely speaks of errors from being one: a *label* stands first and is followed by a
colon or the like, an *opening* stands first, an *ending* closes the first clause or the whole of a short text.
"""

from __future__ import annotations

from typing import Final

from spanward.facts.phrase_model import Phrases
from spanward.facts.phrases_more import MORE

LANGUAGES: Final[dict[str, Phrases]] = {
    "en": Phrases(
        labels=(
            r"(?:[a-z]{1,30}_)?(?:error|exception)",
            r"(?:(?:an? |internal |server |unexpected |unknown |fatal |runtime |validation |api |tool |http |network |"
            r"request |connection |database |sql |syntax |parse |parsing |system |execution |authentication |"
            r"permission |command |query |type |value |invalid |client |proxy |gateway |provider ){1,4})"
            r"(?:error|exception)",
            r"errors", r"error (?:message|code|details?)",
            r"(?:fatal|critical|failure|failed|err|timeout|forbidden|unauthorized|access denied|permission denied)",
        ),
        openings=(
            "traceback (most recent call last)", "exception in thread", "uncaught ", "unhandled exception",
            "panic: ", "failed to ", "failure to ", "unable to ", "an error occurred", "an error has occurred",
            "an unexpected error", "an internal error", "an unknown error", "an exception occurred",
            "error occurred", "error while ", "error when ", "error during ", "error in tool", "error running ",
            "error executing ", "error calling ", "error fetching ", "error reading ", "error parsing ",
            "error processing ", "error getting ", "error invoking ", "error retrieving ", "error connecting ",
            "there was an error", "there was a problem", "something went wrong", "internal server error",
            "permission denied", "access denied", "access is denied", "unauthorized", "unauthorised",
            "not authorized", "authentication failed", "authentication required", "authorization failed",
            "missing required ", "required parameter", "required argument", "missing parameter", "missing argument",
            "unexpected keyword argument", "unknown tool", "unknown function", "unknown command",
            "unknown parameter", "unknown error", "no such tool", "no such file", "no such function",
            "connection refused", "connection reset", "connection timed out", "connection error",
            "connection failed", "connection aborted", "request failed", "request timed out", "request timeout",
            "operation timed out", "operation failed", "timed out", "timeout:", "timeout exceeded",
            "rate limit exceeded", "rate limited", "too many requests", "quota exceeded", "service unavailable",
            "service temporarily unavailable", "temporarily unavailable", "bad gateway", "bad request",
            "gateway timeout", "gateway time-out", "command failed", "command not found", "execution failed",
            "tool execution failed", "tool call failed", "validation failed", "segmentation fault", "out of memory",
            "upstream error", "server error", "syntax error", "invalid arguments", "invalid argument",
            "invalid parameter", "invalid request", "invalid input", "invalid json", "invalid api key",
            "invalid token", "invalid credentials", "invalid value", "could not connect", "could not resolve",
            "enoent", "eacces", "eperm:", "econnrefused", "econnreset", "etimedout", "cannot unmarshal",
            "cannot find module", "maximum call stack", "unexpected token ", "unexpected end of json",
            "string to replace not found", "old_string not found", "oldstring not found", "old string not found",
            "no changes to make", "limit exceeded", "mcp error ",
            "api rate limit exceeded", "bad credentials", "missing authentication token",
            "authentication credentials were not provided", "the tool call failed", "tool execution error", "fatal: ",
        ),
        short_openings=(
            "could not ", "couldn't ", "invalid ", "sorry, ", "we could not ", "we couldn't ", "oops",
            "overloaded", "the model is overloaded", "server is busy", "the server is busy", "the server is overloaded",
            "no endpoints found", "insufficient permission", "you do not have permission",
            "you don't have permission", "you are not authorized",
            *(
                f"{modal} {verb}"
                for modal in ("cannot", "can't", "can not")
                for verb in (
                    "find ", "open ", "read ", "write ", "access ", "connect ", "parse ", "load ", "process ",
                    "complete ", "perform ", "execute ", "create ", "delete ", "update ", "book ", "cancel ",
                    "get ", "import ", "locate ", "resolve ", "convert ", "divide ", "call ", "run ", "use ",
                    "send ", "fetch ", "retrieve ",
                )
            ),
        ),
        endings=(
            " not found", " was not found", " were not found", " not be found", " does not exist", " do not exist",
            " doesn't exist", " is invalid", " is not valid", " parameter is required", " field is required",
            " argument is required", " failed", " has failed", " timed out", " no such file or directory",
            " permission denied", " access denied", " access is denied", " connection refused", " not authorized",
            " is not defined", " is not callable", " is not a valid tool", " is temporarily unavailable",
            " an error occurred", " went wrong", " operation not permitted",
        ),
        nothing=(
            "no ", "zero ", "0 ", "result", "match", "string", "pattern", "occurrence", "text ", "phrase",
            "keyword", "entries", "virus", "threat", "issue", "bug", "problem", "error", "duplicate", "conflict",
        ),
    ),
    "de": Phrases(
        labels=(
            r"(?:(?:ein )?(?:interner|unbekannter|unerwarteter|kritischer|schwerer|fataler) )?[a-zäöüß]*fehler",
            r"[a-zäöüß]*fehlermeldung",
            r"ausnahme",
            r"fehlgeschlagen",
            r"[a-zäöüß ]{0,40} fehlgeschlagen",
        ),
        openings=(
            "fehler bei ", "fehler beim ", "fehler in ", "fehler im ", "fehler auf", "es ist ein fehler ",
            "es ist ein interner fehler", "es ist ein unerwarteter fehler", "ein fehler ist ",
            "ein interner fehler", "ein unerwarteter fehler", "ein unbekannter fehler", "interner serverfehler",
            "zugriff verweigert", "zugriff abgelehnt", "keine berechtigung", "nicht autorisiert",
            "zeitüberschreitung", "verbindung fehlgeschlagen", "verbindung abgelehnt", "verbindung verweigert",
            "verbindung unterbrochen", "verbindungsabbruch", "unbekannter befehl", "unbekannter parameter",
            "unbekanntes werkzeug", "fehlender parameter", "fehlende parameter", "fehlendes argument",
            "pflichtfeld fehlt", "ungültige anfrage", "ungültige eingabe", "ungültiger parameter",
            "ungültiges argument", "ungültiger wert", "das system kann d", "dienst nicht verfügbar", "keine verbindung",
        ),
        short_openings=("ungültig", "leider ist ein ", "anmeldung erforderlich"),
        endings=(
            " nicht gefunden", " nicht gefunden werden", " existiert nicht", " existieren nicht",
            " nicht vorhanden", " fehlgeschlagen", " zugriff verweigert", " verbindung verweigert", " ist ungültig",
            " ist nicht zulässig", " nicht erreichbar", " fehler aufgetreten", " gescheitert",
        ),
        pairs=(
            (" konnte", " nicht ", " werden "), (" konnten", " nicht ", " werden "), ("feld ", " erforderlich "),
            ("parameter ", " fehlt "),
        ),
        nothing=("kein", "ergebnis", "treffer", "muster", "suchbegriff", "übereinstimmung"),
    ),
    "es": Phrases(
        # English shares the first word: what follows it counts only before a colon.
        labels=(r"error(?: [a-záéíóúñ]+){1,3}(?=\s?:)", r"excepción", r"fallo", r"falló", r"mensaje de error"),
        openings=(
            "error al ", "error en ", "error de ", "error interno", "error inesperado", "error desconocido",
            "se produjo un error", "se ha producido un error", "ha ocurrido un error", "ocurrió un error",
            "hubo un error", "hubo un problema", "no se pudo ", "no se pudieron ", "no se ha podido ",
            "no fue posible ", "no ha sido posible ", "imposible ", "fallo al ", "falló ", "acceso denegado",
            "permiso denegado", "no autorizado", "tiempo de espera agotado", "se agotó el tiempo", "falta el ",
            "falta la ", "faltan los ", "parámetro inválido", "parámetro no válido", "parámetro desconocido",
            "solicitud incorrecta", "solicitud inválida", "conexión rechazada", "servicio no disponible",
            "algo salió mal", "comando no encontrado",
        ),
        short_openings=("no se puede ", "no es posible ", "no se encontró ", "no existe ", "lo siento, "),
        endings=(
            " no encontrado", " no encontrada", " no fue encontrado", " no fue encontrada", " no se encontró",
            " no existe", " no válido", " no válida", " inválido", " inválida", " acceso denegado",
            " permiso denegado", " ha fallado", " falló", " no autorizado",
        ),
        pairs=(("parámetro ", " obligatorio "), ("campo ", " obligatorio ")),
        nothing=("resultado", "coincidencia", "ningún", "ninguna", "patrón"),
    ),
    "fr": Phrases(
        labels=(r"erreur(?: [a-zàâéèêîôûç']+){0,3}", r"exception", r"échec", r"message d'erreur"),
        openings=(
            "erreur lors ", "erreur de ", "erreur interne", "erreur inattendue", "erreur pendant ", "une erreur ",
            "un problème est survenu", "impossible d", "échec de ", "échec d'", "échec du ", "échec lors ",
            "accès refusé", "accès interdit", "permission refusée", "permission non accordée", "non autorisé",
            "délai dépassé", "délai d'attente dépassé", "paramètre manquant", "paramètre invalide",
            "paramètre inconnu", "argument manquant", "requête invalide", "requête incorrecte",
            "commande introuvable", "connexion refusée", "service indisponible",
        ),
        short_openings=("désolé, ", "il manque ", "le serveur n'a pas "),
        endings=(
            " introuvable", " introuvables", " non trouvé", " non trouvée", " n'existe pas", " n'a pas été trouvé",
            " n'a pas été trouvée", " a échoué", " ont échoué", " accès refusé", " invalide", " n'est pas valide",
        ),
        pairs=(
            (" n'a pas pu ", "être "), (" n'ont pas pu ", "être "), ("paramètre ", " requis "),
            ("champ ", " obligatoire "),
        ),
        nothing=("résultat", "correspondance", "aucun", "motif"),
    ),
    "nl": Phrases(
        labels=(
            r"(?:(?:interne|onbekende|onverwachte|kritieke|fatale) )?[a-z]*fout", r"foutmelding", r"foutcode",
            r"uitzondering", r"mislukt",
        ),
        openings=(
            "fout bij ", "fout in ", "fout tijdens ", "fout opgetreden", "er is een fout ",
            "er is een onverwachte fout", "er is een interne fout", "er ging iets mis", "er ging iets fout",
            "er is iets misgegaan", "interne serverfout", "onverwachte fout", "onbekende fout", "toegang geweigerd",
            "geen toegang", "geen toestemming", "niet geautoriseerd", "ongeldige aanvraag", "ongeldige invoer",
            "ongeldige parameter", "ongeldig argument", "ontbrekende parameter", "ontbrekend argument",
            "verplichte parameter", "verbinding mislukt", "verbinding geweigerd", "verbinding verbroken",
            "onbekende opdracht", "onbekende parameter", "het is niet gelukt ", "kan geen verbinding",
        ),
        short_openings=("ongeldig", "kan niet ", "kon niet ", "kon de ", "kon het ", "helaas is er een fout"),
        endings=(
            " niet gevonden", " niet gevonden worden", " niet worden gevonden", " bestaat niet", " bestaan niet",
            " is mislukt", " mislukt",
            " kan niet worden geopend", " kan niet worden gevonden", " toegang geweigerd", " is ongeldig",
            " niet bereikbaar", " fout opgetreden",
        ),
        pairs=(
            (" kon ", " niet ", " worden "), (" konden ", " niet ", " worden "), (" kon ", " niet worden "),
            ("parameter ", " verplicht "),
        ),
        nothing=("geen ", "resultaten", "overeenkomst", "patroon"),
    ),
    "hu": Phrases(
        labels=(
            r"(?:(?:belső|ismeretlen|váratlan|hálózati|kritikus|végzetes) )?[a-záéíóöőúüű]*hiba", r"hibaüzenet",
            r"hibakód", r"kivétel", r"sikertelen(?: [a-záéíóöőúüű]+){0,3}",
        ),
        openings=(
            "hiba történt", "hiba a ", "hiba az ", "hiba lépett fel", "hiba merült fel", "belső hiba",
            "belső szerverhiba", "váratlan hiba", "ismeretlen hiba", "ismeretlen parancs", "ismeretlen eszköz",
            "ismeretlen paraméter", "nem sikerült", "sikertelen ", "hozzáférés megtagadva", "hozzáférés elutasítva",
            "nincs jogosultság", "hiányzó paraméter", "hiányzó kötelező", "hiányzó argumentum", "hiányzik a ",
            "érvénytelen paraméter", "érvénytelen kérés", "érvénytelen bemenet", "érvénytelen argumentum",
            "érvénytelen érték", "időtúllépés", "a kapcsolat megszakadt", "kapcsolódási hiba",
            "a szolgáltatás nem elérhető",
        ),
        short_openings=("nem lehet ", "nem található ", "érvénytelen ", "sajnos hiba", "sajnálom, "),
        endings=(
            " nem található", " nem találhatók", " nem található meg", " nem létezik", " nem léteznek",
            " sikertelen", " sikertelen volt", " meghiúsult", " hozzáférés megtagadva", " érvénytelen",
            " megadása kötelező", " kitöltése kötelező", " hiba történt", " nem sikerült",
        ),
        nothing=("találat", "nincs ", "eredmény", "minta", "egyezés"),
    ),
    "zh": Phrases(
        labels=(
            "[一-鿿]{0,8}(?:错误|錯誤)(?:信息|代码|訊息)?",
            "[一-鿿]{0,8}(?:出错|出錯|异常|異常|报错|報錯)(?:信息)?", "[一-鿿]{0,8}(?:失败|失敗)",
        ),
        openings=(
            "发生错误", "发生了错误", "发生未知错误", "发生内部错误", "發生錯誤", "出现错误", "出现异常", "出错了",
            "系统错误", "系统异常", "服务器错误", "服务器内部错误", "内部错误", "网络错误", "请求失败", "請求失敗",
            "操作失败", "查询失败", "查詢失敗", "调用失败", "执行失败", "连接失败", "连接超时", "连接被拒绝",
            "请求超时", "访问被拒绝", "拒绝访问", "拒絕存取", "没有权限", "权限不足", "参数错误", "参数无效",
            "参数不合法", "参数不正确", "参数缺失", "缺少参数", "缺少必要", "缺少必填", "缺少必需",
            "非法参数", "非法请求",
            "无效的", "無效的", "未授权", "服务不可用", "找不到工具", "未知错误", "未知命令", "工具不存在",
        ),
        short_openings=(
            "无法", "無法", "未能", "找不到", "未找到", "不能连接", "不能打开", "不能访问", "不能读取", "抱歉,",
            "抱歉，", "超时",
        ),
        endings=(
            "失败", "失敗", "不存在", "未找到", "找不到", "无效", "無效", "超时", "逾時", "被拒绝", "不支持",
            "不合法", "出错", "发生错误", "格式错误", "参数错误",
        ),
        nothing=("结果", "結果", "匹配", "记录", "符合", "没有", "沒有"),
    ),
    "pt": Phrases(
        labels=(r"erro(?: [a-záâãéêíóôõúç]+){0,3}", r"exceção", r"falha", r"mensagem de erro"),
        openings=(
            "erro ao ", "erro de ", "erro em ", "erro na ", "erro no ", "erro interno", "erro inesperado",
            "ocorreu um erro", "houve um erro", "houve um problema", "não foi possível ", "falha ao ", "falha na ",
            "falha no ", "acesso negado", "permissão negada", "não autorizado", "parâmetro inválido",
            "parâmetro ausente", "parâmetro obrigatório", "tempo esgotado", "tempo limite ", "conexão recusada",
            "serviço indisponível", "requisição inválida", "comando não encontrado", "algo deu errado",
        ),
        short_openings=("não é possível ", "desculpe, ", "não existe "),
        endings=(
            " não encontrado", " não encontrada", " não foi encontrado", " não foi encontrada", " não existe",
            " inválido", " inválida", " falhou", " acesso negado", " permissão negada",
        ),
        pairs=(("parâmetro ", " obrigatório "), ("campo ", " obrigatório ")),
        nothing=("resultado", "correspondência", "nenhum"),
    ),
    "it": Phrases(
        labels=(r"errore(?: [a-zàèéìòù]+){0,3}", r"eccezione", r"fallito", r"messaggio di errore"),
        openings=(
            "errore durante ", "errore nel", "errore di ", "errore interno", "errore imprevisto",
            "si è verificato un errore", "si è verificato un problema", "impossibile ", "non è stato possibile ",
            "accesso negato", "permesso negato", "non autorizzato", "parametro mancante", "parametro non valido",
            "argomento mancante", "richiesta non valida", "connessione rifiutata", "servizio non disponibile",
            "comando non trovato", "tempo scaduto",
        ),
        short_openings=("non è possibile ", "spiacenti, ", "mi dispiace, "),
        endings=(
            " non trovato", " non trovata", " non esiste", " non valido", " non valida", " fallito", " fallita",
            " accesso negato",
        ),
        pairs=(("parametro ", " obbligatorio "), ("campo ", " obbligatorio ")),
        nothing=("risultat", "corrispondenz", "nessun"),
    ),
    "ja": Phrases(
        labels=("[一-鿿ぁ-んァ-ヶー]{0,10}エラー(?:メッセージ|コード)?", "例外", "[一-鿿]{0,6}失敗"),
        openings=(
            "エラーが発生", "内部エラー", "予期しないエラー", "予期せぬエラー", "不明なエラー", "サーバーエラー",
            "アクセスが拒否", "アクセス拒否", "権限がありません", "認証に失敗", "タイムアウト", "接続に失敗",
            "接続が拒否", "無効なパラメータ", "無効なリクエスト", "必須パラメータ", "パラメータが不足",
            "リクエストに失敗",
        ),
        short_openings=("無効な", "申し訳"),
        endings=(
            "見つかりません", "見つかりませんでした", "存在しません", "失敗しました", "できませんでした",
            "エラーが発生しました", "無効です", "拒否されました", "タイムアウトしました", "必須パラメータです",
        ),
        nothing=("結果", "該当", "一致"),
    ),
    **MORE,
}  # fmt: skip

NO_ERROR: Final = frozenset({
    "", "0", "none", "null", "no", "nil", "false", "n/a", "-", "ok", "success", "no error", "no errors", "keine",
    "keiner", "ninguno", "ninguna", "aucune", "aucun", "geen", "nincs", "无", "無", "没有", "nessuno", "nessun",
    "nenhum", "nenhuma", "なし", "[]", "{}",
})  # fmt: skip
"""What stands after a label, or in an error field, when there is no error."""

ADMISSIONS: Final = (
    "error", "fail", "unable", "could not", "couldn't", "cannot", "can't", "wasn't able", "was not able",
    "were not able", "not able to", "sorry", "unfortunately", "apolog", "not available", "unavailable", "not found",
    "a problem", "problems", "problem with", "an issue", "issues", "issue with", "did not work", "didn't work",
    "unsuccess", "denied", "timed out", "not possible", "fehler", "leider", "nicht möglich", "konnte nicht",
    "konnten nicht", "kann nicht", "nicht verfügbar", "entschuldig", "lo siento", "lamentablemente", "no se pudo",
    "no pude", "no ha sido posible", "no fue posible", "no disponible", "falló", "fallo ", "désolé",
    "malheureusement", "impossible", "erreur", "n'ai pas pu", "échou", "indisponible", "helaas", "fout", "mislukt",
    "niet gelukt", "kon niet", "kan niet", "niet beschikbaar", "sorry", "sajn", " hiba", "hibát", "nem sikerült",
    "nem tud", "nem elérhető", "nem található", "抱歉", "对不起", "很遗憾", "错误", "失败", "无法", "未能",
    "不可用", "找不到", "錯誤", "失敗", "無法", "desculp", "infelizmente", "erro", "não foi possível",
    "não consegui", "indisponível", "mi dispiace", "purtroppo", "errore", "non è stato possibile",
    "non sono riuscit", "non disponibile", "申し訳", "残念", "エラー", "できません", "できなかった",
    "見つかりません",
)  # fmt: skip
"""Parts of words with which an answer owns up to a failure, in any position. Wide on purpose: they only ever excuse."""

DENIALS: Final = (
    "no error", "without error", "without any error", "no problem", "kein problem", "no issue", "not fail",
    "error-free", "keine fehler", "ohne fehler", "fehlerfrei", "sin error", "ningún error", "sans erreur",
    "aucune erreur", "geen fout", "zonder fout", "nincs hiba", "hiba nélkül", "没有错误", "無錯誤", "nenhum erro",
    "sem erro", "nessun errore", "senza errori", "エラーなし",
)  # fmt: skip
"""Words that take an admission back."""
