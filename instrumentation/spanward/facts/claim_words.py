# ruff: noqa: E501 -- lists of words in wide characters
"""How languages say what an answer claims of the work. Data only: :mod:`spanward.facts.claims` reads it."""

from __future__ import annotations

from typing import Final

ANNOUNCES: Final = (
    # what opens it, and what has to follow
    (
        r"(?:(?:now|next|first|then|so|ok(?:ay)?|great|perfect|sure|alright|right|good|certainly|of course|got it|understood|absolutely)\b[,.!:]? ){0,2}"
        r"(?:let me|let's|i'll|i will|i am going to|i'm going to|i need to|i should|we need to|we'll|i'm now|i am now|i'm|i am)"
        r"(?: (?:now|first|also|then|go ahead and|quickly|just|next|start by|begin by|proceed to|continue to|need to))*",
        r" (?:check|look|read|search|find|open|run|start|begin|creat|writ|implement|fix|updat|continu|proceed|examin|inspect"
        r"|analy[sz]|review|explor|investigat|verif|test|try|fetch|get|pull|query|list|add|edit|modif|install|set up|build"
        r"|execut|call|us|apply|mak|generat|retriev|gather|scan|work|take a|dig|load|download|brows|navigat|click|renam"
        r"|refactor|mov|delet|remov|send|book|process|compil|debug|commit|push|deploy|prepar|draft|put|calculat|comput|handl"
        r"|perform|convert|reproduc|trac|figur|rerun|re-run|wait|monitor|see|do)(?:e|es|ing|ning|ting|ying|y)?\b",
    ),
    (
        r"(?:(?:gut|okay|ok|alles klar|verstanden|prima|gerne|super|perfekt)[,.!]? )?(?:(?:nun|jetzt|als nächstes|zuerst|zunächst|dann) )?"
        r"(?:ich (?:werde|beginne|fange|prüfe|schaue|sehe|starte|öffne|suche|lese|führe|erstelle|mache|analysiere|implementiere|überprüfe)"
        r"|lass(?:en sie)? mich|werde ich|beginne ich|prüfe ich|öffne ich|führe ich|schaue ich)",
        r"\b",
    ),
    (
        r"(?:(?:de acuerdo|entendido|perfecto|claro|muy bien|vale|ahora|primero|a continuación)[,.!]? ){0,2}"
        r"(?:voy a|déjame|déjeme|permíteme|permítame|vamos a|procedo a|procederé|comenzaré|empezaré|revisaré|buscaré|ejecutaré|abriré"
        r"|comprobaré|verificaré|crearé|leeré|analizaré|estoy (?:revisando|ejecutando|buscando|creando))",
        r"\b",
    ),
    (
        r"(?:(?:d'accord|compris|parfait|très bien|bien sûr|maintenant|d'abord|ensuite)[,.!]? ){0,2}"
        r"(?:je vais|laissez-moi|laisse-moi|je commence|commençons|je procède|je lance|je vérifie|j'ouvre|je cherche)",
        r"\b",
    ),
    (
        r"(?:(?:certo|entendi|perfeito|ok|claro|agora|primeiro|perfetto|va bene|ora|adesso|prima)[,.!]? ){0,2}"
        r"(?:vou|deixe-me|irei|vamos|começarei|verificarei|sto per|procedo|lasciami|mi lasci|comincio|inizio|controllo|eseguo|apro|verifico|cerco)",
        r" \w",
    ),
    (
        r"(?:(?:goed|oké|ok|prima|begrepen|duidelijk|natuurlijk)[,.!]? )?(?:(?:nu|eerst|vervolgens|dan) )?"
        r"(?:ik (?:ga|zal|begin|start|controleer|open|zoek|lees|voer|bekijk|kijk|maak)|laat me (?!weten)|ga ik|zal ik (?:nu|eerst))",
        r"\b",
    ),
    (
        r"(?:(?:rendben|értem|oké|jó)[,.!]? )?(?:(?:most|először|akkor|ezután) )?",
        r"(?:megnézem|ellenőrzöm|elkezdem|nekilátok|hadd |folytatom|átnézem|lefuttatom|megnyitom|megkeresem|létrehozom|beolvasom|elemzem|frissítem|kijavítom)",
    ),
    (
        r"(?:(?:хорошо|понятно|понял|отлично|dobrze|jasne|rozumiem|ok)[,.!]? )?(?:(?:сейчас|теперь|сначала|затем|teraz|zaraz|najpierw) )?(?:я )?",
        r"(?:проверю|посмотрю|начну|открою|запущу|создам|приступаю|изучу|найду|прочитаю|исправлю|выполню|начинаю|давайте|sprawdzę|zacznę|otworzę|uruchomię|poszukam|przeczytam|utworzę|naprawię|zaczynam)",
    ),
    (
        r"(?:(?:好的|好|明白了|明白|收到|当然|现在|首先|接下来|然后|那么|下面)[，,。！!:：]?\s?){0,4}(?:让我|我来|我将|我会|我要|我先|我现在|我马上|正在|开始|继续|等待|重新运行|接下来|现在|首先)",
        r".{0,16}(?:检查|查看|读取|搜索|查找|打开|运行|执行|创建|修改|修复|更新|实现|分析|测试|继续|处理|编写|获取|查询|安装|部署|提交|重构|调用|看看|看一下|确认|验证|整理|阅读|结果|生成|添加|删除|开始)",
    ),
    (
        r".{0,60}?",
        r"(?:(?:確認|実行|検索|修正|作成|調査|開始|更新|実装|分析|取得|テスト|処理|チェック|読み込み|変更|追加|削除|インストール)(?:して(?:みます|いきます)|します|を(?:開始|実行|行い)(?:します|ます))|調べ(?:て(?:み)?)?ます|始めます|見てみます|探します|読みます)(?:ね)?$",
    ),
    (
        r".{0,60}?",
        r"(?:확인|실행|검색|수정|생성|조사|시작|업데이트|구현|분석|테스트|처리|작성|검토|진행|변경|추가|삭제|설치|정리)(?:해\s?(?:보|드리))?(?:하)?겠습니다$|.{0,60}?(?:살펴|찾아|읽어)\s?보겠습니다$",
    ),
)  # fmt: skip
"""A sentence that says what the speaker does next: how it opens, and what has to come then."""
ANNOUNCED_IN_ASCII: Final = 7
"""As many of these, from the front, can be written in ASCII."""

POSTPONES: Final = (
    r"\?|？|\b(?:once|if|when|after|until|as soon as|unless|whenever|would you|you can|you could|let me know|for you to|your (?:confirmation|approval|reply|response|input|answer|permission|go-ahead)"
    r"|in the future|tomorrow|later|from now on|going forward|next time|always|be happy to|be glad to|keep you|keep that in mind|please"
    r"|sobald|wenn|falls|bitte|nachdem|morgen|später|gerne|cuando|en cuanto|por favor|si (?:usted|quiere|desea|lo|me|necesita)|mañana|quand|dès que|si (?:vous|tu)|s'il|demain"
    r"|quando|assim que|se (?:você|quiser|precisar|vuoi|desidera)|non appena|amanhã|domani|zodra|als (?:je|u|jij)|wanneer|alsjeblieft|alstublieft|morgen"
    r"|amint|ha |kérem|holnap|если|когда|как только|пожалуйста|завтра|jeśli|gdy|proszę|jutro)\b"
    r"|如果|一旦|等您|等你|请您|请你|您可以|你可以|明天|たら|もし|ください|明日|면 |세요|내일"
)  # fmt: skip
"""It depends on the person who reads it, so that nothing is promised for now."""

WAITS: Final = (
    "please wait", "one moment", "hold on", "bear with me", "give me a moment", "give me a second", "just a moment",
    "one sec", "einen moment", "einen augenblick", "bitte warten", "un momento", "espere", "espera un", "un instant",
    "patientez", "um momento", "aguarde", "attendi", "een moment", "even geduld", "een ogenblik", "egy pillanat",
    "минут", "подождите", "chwil", "稍等", "请稍候", "少々お待ち", "お待ちください", "잠시만",
)  # fmt: skip
"""Asks the reader to wait."""

HYPOTHETICAL: Final = (
    r"\b(?:should|would|will|could|might|may|must|need(?:s|ed)?|if|once|when|whether|until|unless|before|after|to make|ensure|make sure|cannot|can't|not|no|never|without|fail\w*"
    r"|n't|aren't|isn't|don't|didn't|doesn't|haven't|hasn't|only|some|most|except|almost|nearly|part(?:ly|ially)?|remaining"
    r"|soll\w*|muss|müssen|wird|werden|würde|könnte|wenn|sobald|falls|damit|nicht|kein\w*|ohne|noch|bis|fehl\w+"
    r"|debe\w*|deber\w+|podr\w+|cuando|hasta|para que|no|sin|faltan?|fall[aóe]\w*|doit|devrai\w*|pourrai\w*|quand|jusqu'\w*|pour que|pas|sans|échou\w+"
    r"|deve\w*|dovre\w*|potre\w*|poderia|quando|até|finché|para que|perché|non|não|sem|senza|fallit\w+|falh\w+|moet\w*|zou|zal|zullen|zodra|als|totdat|niet|geen|zonder|mislukt\w*"
    r"|kell|ha|amíg|nem|nincs|sikertelen|hogy|должн\w+|если|когда|пока|чтобы|не|нет|без|powin\w+|jeśli|gdy|dopóki|nie|bez)\b"
    r"|如果|若|应该|应当|需要|未|没有|没|不|待|请|以便|确保|失败|もし|べき|はず|ない|ません|なければ|失敗|않|못|실패|면 |해야"
)  # fmt: skip
"""Said before it in the same sentence, it takes the claim back or makes it a condition."""

_CHECKS: Final = r"(?:unit |integration |all |the |full |e2e |regression )*(?:tests?|test suite|test cases|specs?|suite|checks|builds?|compilation|lint\w*|type ?checks?|ci|pipeline)"
TESTED: Final = (
    (("pass", "green", "succe", "clean",), rf"\b{_CHECKS}\b[^.!?\n]{{0,40}}\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:ful|fully)?|clean)\b"),
    (("build", "compil",), rf"\b{_CHECKS}\b[^.!?\n]{{0,40}}\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:ful|fully)?|clean|works?|verified)\b|\b(?:builds?|compiles?) (?:cleanly|successfully|without (?:any )?(?:errors?|warnings?))\b"),
    (("compil",), r"\b(?:code|project|it|everything|app|program|compil\w+)\b[^.!?\n]{0,20}\b(?:compil(?:es|ed)|succe\w+)\b"),
    (("checks",), rf"\b{_CHECKS}\b[^.!?\n]{{0,40}}\b(?:pass(?:es|ed|ing)?|green|clean)\b"),
    (("output",), r"\b(?:real|actual) output\b|\bhere(?:'s| is) the (?:actual |real |command |terminal )?output\b"),
    (("verified",), r"\bverified just now\b"),
    (("ran",), r"\bi ran (?:all |the |all the |your )?(?:\w+ ){0,2}(?:tests?|suite|build|linter)\b"),
    (("run",), r"\bi've run (?:all |the |all the |your )?(?:\w+ ){0,2}(?:tests?|suite|build|linter)\b"),
    (("bestanden", "erfolgreich", "grün", "durchgelaufen", "laufen", "läuft",), r"\btests?\b[^.!?\n]{0,40}\b(?:bestanden|erfolgreich|grün|durchgelaufen|laufen durch|läuft durch)\b|\b(?:erfolgreich|bestanden)\b[^.!?\n]{0,20}\bgetestet\b"),
    (("erfolgreich", "exitos", "réussi", "geslaagd", "sikeres", "bem-sucedid", "riuscit",), r"\bbuild\b[^.!?\n]{0,30}\b(?:erfolgreich|exitosa?|réussie?|geslaagd|sikeres|bem-sucedid[oa]|riuscit[oa])\b"),
    (("prueba",), r"\bpruebas?\b[^.!?\n]{0,40}\b(?:pasan|pasaron|pasado|pasando|exitosas?|éxito|verde|correctamente|superad[ao]s?)\b"),
    (("pasan", "pasaron", "pasado", "exitoso", "éxito", "verde", "passent", "passé", "réussi", "vert", "succès", "passano", "passati", "superati", "successo", "verdi",), r"\btests?\b[^.!?\n]{0,40}\b(?:pasan|pasaron|pasado|exitosos?|éxito|verde|passent|passés?|réussis?|réussissent|verts?|succès|passano|passati|superati|successo|verdi)\b"),
    (("teste",), r"\btestes?\b[^.!?\n]{0,40}\b(?:passam|passaram|passando|sucesso|verdes?|aprovados)\b"),
    (("geslaagd", "slagen", "groen", "succesvol", "doorlopen",), r"\btests?\b[^.!?\n]{0,40}\b(?:geslaagd|slagen|groen|succesvol|doorlopen)\b"),
    (("teszt",), r"\bteszt\w*\b[^.!?\n]{0,40}\b(?:sikeres\w*|átment\w*|zöld\w*|lefut\w*)\b"),
    (("przechodz", "przeszły", "zielone", "powodzeniem",), r"\btest\w*\b[^.!?\n]{0,40}\b(?:przechodz\w+|przeszły|zielone|powodzeniem)\b"),
    (("тест",), r"\bтест\w*[^.!?\n]{0,40}(?:прош\w+|проход\w+|успешн\w+|зелён\w+)"),
    (("测试",), r"测试.{0,10}(?:通过|成功)"),
    (("构建",), r"构建.{0,6}(?:通过|成功)"),
    (("编译",), r"编译.{0,6}(?:通过|成功)"),
    (("テスト",), r"テスト.{0,12}(?:成功|合格|パス|通過|通りました|通って)"),
    (("ビルド",), r"ビルド.{0,8}(?:成功|通りました)"),
    (("테스트",), r"테스트.{0,12}(?:통과|성공)"),
    (("빌드",), r"빌드.{0,8}성공"),
)  # fmt: skip
"""The answer says that tests pass or that it builds: words of which one stands in it, and the claim."""

COMPLETE: Final = (
    (("complete", "done", "finished", "implemented", "taken", "migrated", "resolved",), r"\ball\b[^.!?\n]{0,48}\b(?:complete|completed|done|finished|implemented|taken care of|migrated|resolved)\b"),
    (("complete", "done", "finished", "implemented", "place", "taken",), r"\bevery(?:thing)?\b[^.!?\n]{0,48}\b(?:complete|completed|done|finished|implemented|in place|taken care of)\b"),
    (("entire", "whole", "full",), r"\bthe (?:entire|whole|full)\b[^.!?\n]{0,40}\b(?:complete|completed|done|finished|implemented)\b"),
    (("erledigt", "abgeschlossen", "fertig", "umgesetzt", "implementiert", "klaar", "voltooid", "afgerond", "gedaan", "geïmplementeerd",), r"\balles?\b[^.!?\n]{0,48}\b(?:erledigt|abgeschlossen|fertig|umgesetzt|implementiert|klaar|voltooid|afgerond|gedaan|geïmplementeerd)\b"),
    (("complet", "terminad", "list", "hech", "implementad", "finalizad", "conclu", "pront", "feit",), r"\btod[oa]s?\b[^.!?\n]{0,48}\b(?:complet\w+|terminad\w+|list[oa]s?|hech\w+|implementad\w+|finalizad\w+|conclu\w+|pront[oa]s?|feit[oa]s?)\b"),
    (("tudo",), r"\btudo\b[^.!?\n]{0,40}\b(?:conclu\w+|complet\w+|pronto|feito|terminado)\b"),
    (("terminé", "achevé", "complété", "fait", "implémenté",), r"\btou(?:t|te|tes|s)\b[^.!?\n]{0,48}\b(?:terminée?s?|achevée?s?|complétée?s?|faite?s?|implémentée?s?)\b"),
    (("completat", "finit", "fatt", "terminat", "implementat",), r"\btutt[oiea]\b[^.!?\n]{0,48}\b(?:completat[oiea]|finit[oiea]|fatt[oiea]|terminat[oiea]|implementat[oiea])\b"),
    (("minden",), r"\bminden\b[^.!?\n]{0,48}\b(?:kész|elkészült|befejez\w+|megvan)\b"),
    (("összes",), r"\bösszes\b[^.!?\n]{0,48}\b(?:kész|elkészült|befejez\w+)\b"),
    (("все",), r"\bвсе\b[^.!?\n]{0,48}(?:готов\w*|заверш\w+|выполн\w+|сделан\w*)"),
    (("всё",), r"\bвсё\b[^.!?\n]{0,48}(?:готов\w*|заверш\w+|выполн\w+|сделан\w*)"),
    (("wszystk",), r"\bwszystk\w+\b[^.!?\n]{0,48}\b(?:gotowe|ukończon\w+|zakończon\w+|zrobion\w+)\b"),
    (("全部",), r"全部.{0,16}(?:完成|实现|实施|完了|終わり|実装)"),
    (("所有",), r"所有.{0,16}(?:完成|实现|实施)"),
    (("すべて",), r"すべて.{0,16}(?:完了|終わり|実装)"),
    (("全て",), r"全て.{0,16}(?:完了|終わり|実装)"),
    (("모든",), r"모든.{0,20}(?:완료|끝)"),
    (("모두",), r"모두.{0,16}(?:완료|끝)"),
)  # fmt: skip
"""The answer says that everything there was to do is done."""

_NAMED: Final = r"[^\s.,;:!?]{2}\.[a-z][a-z\d]{0,4}\b"
_FILE: Final = rf"(?=[^!?\n]{{0,100}}?{_NAMED})"
"""The name of a file comes soon; only looked ahead to, so that hostile text costs no time."""
_I: Final = (
    r"(?:\bi (?:have |just |also )?|\bi've (?:now |just |also )?|\bsuccessfully |^(?:done|ok|all set)[.!:,]+ |^\W{0,4})"
)
_DEEDS: Final = (
    r"(?:created|written|saved|generated|updated|modified|deleted|removed|renamed|moved|sent|submitted|scheduled|booked"
    r"|cancell?ed|refunded|registered|added|published|posted|uploaded|deployed|installed|recorded|logged|opened|filed|exported)\b"
)
REPORTED: Final = (
    (("been",), rf"\b(?:has|have) (?:now |just |also )?been (?:successfully )?{_DEEDS}"),
    (("successfully",), rf"\b(?:was|were) (?:successfully {_DEEDS}|{_DEEDS} successfully)|\b{_DEEDS} successfully"),
    (("erstellt", "angelegt", "gespeichert", "gelöscht", "gesendet", "verschickt", "gebucht", "storniert", "registriert", "aktualisiert", "hochgeladen", "eingetragen", "hinzugefügt",), r"\b(?:wurden?|ist|sind)\b[^.!?\n]{0,60}\b(?:erstellt|angelegt|gespeichert|gelöscht|gesendet|verschickt|gebucht|storniert|registriert|aktualisiert|hochgeladen|eingetragen|hinzugefügt)\b"),
    (("éxito", "exitosamente"), r"\b(?:cread|registrad|enviad|guardad|eliminad|actualizad|reservad|cancelad|programad|abiert)[oa]s? (?:con éxito|correctamente|exitosamente)\b"),
    (("correctamente",), r"\b(?:cread|registrad|enviad|guardad|eliminad|actualizad|reservad|cancelad|programad)[oa]s? correctamente\b"),
    (("sucesso",), r"\b(?:criad|registrad|enviad|salv|excluíd|atualizad|reservad|cancelad|agendad|abert)[oa]s? com sucesso\b"),
    (("successo",), r"\b(?:creat|registrat|inviat|salvat|eliminat|aggiornat|prenotat|annullat|apert)[oaie] con successo\b"),
    (("succès",), r"\b(?:créé|enregistré|envoyé|supprimé|mis à jour|réservé|annulé|ouvert)e?s? avec succès\b"),
    (("été",), r"\b(?:a|ont) (?:bien )?été (?:créé|enregistré|envoyé|supprimé|mis à jour|réservé|annulé|ouvert|ajouté)e?s?\b"),
    (("sido",), r"\bha(?:n)? sido (?:cread|registrad|enviad|guardad|eliminad|actualizad|reservad|cancelad)[oa]s?\b"),
    (("foi", "foram",), r"\b(?:foi|foram) (?:criad|registrad|enviad|salv|excluíd|atualizad|reservad|cancelad|abert)[oa]s?\b"),
    (("stat",), r"\b(?:è stat[oa]|sono stat[ie]) (?:creat|registrat|inviat|salvat|eliminat|aggiornat|prenotat|annullat)[oaie]\b"),
    (("aangemaakt", "verzonden", "verwijderd", "opgeslagen", "geboekt", "geannuleerd", "bijgewerkt", "geregistreerd", "toegevoegd",), r"\b(?:is|zijn|werd|werden)\b[^.!?\n]{0,60}\b(?:aangemaakt|verzonden|verwijderd|opgeslagen|geboekt|geannuleerd|bijgewerkt|geregistreerd|toegevoegd)\b"),
    (("sikeresen",), r"\bsikeresen (?:létrehoz|elküld|ment|töröl|frissít|lefoglal|rögzít)\w*"),
    (("успешно",), r"\bуспешно (?:создан|отправлен|сохран|удал|обновл|забронирован|отменен|зарегистрирован)\w*"),
    (("成功",), r"(?:创建|发送|保存|删除|更新|预订|取消|登记|提交|添加|导出)成功|成功(?:创建|发送|保存|删除|更新|预订|取消|登记|提交|添加|导出)"),
    (("已",), r"已(?:经|成功)?(?:创建|发送|保存|删除|更新|预订|取消|登记|提交|添加|导出|写入)"),
    (("ました",), r"(?:が|は)[^。]{0,12}(?:作成|送信|保存|削除|更新|予約|登録|追加)されました"),
    (("되었습니다",), r"(?:생성|전송|저장|삭제|업데이트|예약|취소|등록|추가)되었습니다"),
)  # fmt: skip
"""The answer tells of an effect without saying whose it was."""
TRIED: Final = (
    (("tried",), r"\bi(?:'ve)? tried\b"),
    (("tried",), r"\bi have tried\b"),
    (("tried",), r"\bi've tried\b"),
    (("verified", "checked", "confirmed"), r"\b(?:verified|checked|confirmed) (?:it |this |that )?(?:just now|live|right now)\b|\b(?:i(?:'ve)?|i have) just (?:verified|checked|confirmed)\b"),
    (("output",), r"\b(?:real|actual|live) (?:tool |command |terminal )?output\b"),
    (("just ran", "just executed", "just searched", "i ran", "i executed", "i searched"), r"\bi(?:'ve)? (?:have )?(?:just )?(?:ran|run|executed|searched)\b"),
    (("message",), r"\bthe error message\b"),
    (("tool",), r"\bthe tool (?:call )?(?:returned|failed|reported|responded|errored)\b"),
    (("versucht",), r"\bich habe versucht\b"),
    (("fehlermeldung",), r"\bdie fehlermeldung\b"),
    (("intentado",), r"\bhe intentado\b"),
    (("mensaje",), r"\bel mensaje de error\b"),
    (("essayé",), r"\bj'ai essayé\b"),
    (("erreur",), r"\ble message d'erreur\b"),
    (("geprobeerd",), r"\bik heb geprobeerd\b"),
    (("megpróbáltam",), r"\bmegpróbáltam\b"),
    (("tentei",), r"\btentei\b"),
    (("provato",), r"\bho provato\b"),
    (("我尝试",), r"我(?:已经)?尝试(?:了|过)"),
    (("工具返回",), r"工具返回(?:了)?错误"),
    (("試しましたが",), r"試しましたが"),
    (("시도했",), r"시도했(?:지만|으나)"),
)  # fmt: skip
"""The answer tells of an attempt or of what a tool said to it."""
WRITTEN: Final = (
    (("created", "saved", "generated", "updated", "edited", "modified", "renamed", "exported", "stored",), rf"{_I}(?:created|saved|generated|updated|edited|modified|renamed|exported|stored)\b{_FILE}"),
    (("added", "annotated", "inserted", "applied", "cropped", "resized", "merged", "converted",), rf"{_I}(?:added|annotated|inserted|applied|cropped|resized|merged|converted)\b[^.!?\n]{{0,60}} (?:the|your) (?:image|photo|picture|video|chart|document|pdf|page|sheet|spreadsheet|slides?|presentation|calendar|cart|list|ticket|issue|record|form|playlist|database)\b"),
    (("written",), rf"{_I}written\b{_FILE}"),
    (("wrote",), rf"(?:\bi (?:just |also )?|^(?:done|ok|all set)[.!:,]+ |^\W{{0,4}})wrote\b{_FILE}"),
    (("erstellt", "geschrieben", "gespeichert", "angelegt", "aktualisiert", "geändert", "umbenannt", "erzeugt",), rf"\bhabe\b{_FILE}[^!?\n]{{0,140}}?\b(?:erstellt|geschrieben|gespeichert|angelegt|aktualisiert|geändert|umbenannt|erzeugt)\b"),
    (("heb",), rf"\bik heb\b{_FILE}[^!?\n]{{0,140}}?\b(?:gemaakt|aangemaakt|geschreven|opgeslagen|bijgewerkt|aangepast|hernoemd|gegenereerd)\b"),
    (("creado", "escrito", "guardado", "generado", "actualizado", "modificado", "añadido", "corregido", "renombrado",), rf"\bhe (?:creado|escrito|guardado|generado|actualizado|modificado|añadido|corregido|renombrado)\b{_FILE}"),
    (("ai",), rf"\bj'ai (?:bien )?(?:créé|écrit|enregistré|généré|mis à jour|modifié|ajouté|corrigé|renommé)\b{_FILE}"),
    (("creato", "scritto", "salvato", "generato", "aggiornato", "modificato", "aggiunto", "corretto", "rinominato",), rf"\bho (?:creato|scritto|salvato|generato|aggiornato|modificato|aggiunto|corretto|rinominato)\b{_FILE}"),
    (("criei", "escrevi", "salvei", "gerei", "atualizei", "modifiquei", "adicionei", "renomeei",), rf"\b(?:criei|escrevi|salvei|gerei|atualizei|modifiquei|adicionei|renomeei)\b{_FILE}"),
    (("létrehoztam", "megírtam", "elmentettem", "frissítettem", "módosítottam", "átneveztem",), rf"\b(?:létrehoztam|megírtam|elmentettem|frissítettem|módosítottam|átneveztem)\b{_FILE}"),
    (("я",), rf"\bя (?:создал|написал|сохранил|обновил|изменил|добавил|исправил|переименовал)а?\b{_FILE}"),
    (("创建",), rf"(?:已|成功|我)创建了?{_FILE}|创建了{_FILE}"),
    (("保存",), rf"(?:已|成功)?保存(?:了|到|至){_FILE}"),
    (("写入",), rf"(?:已|成功)写入了?{_FILE}|写入了{_FILE}"),
    (("生成",), rf"(?:已|成功)生成了?{_FILE}|生成了{_FILE}"),
    (("更新",), rf"(?:已|成功)更新了?{_FILE}|更新了{_FILE}"),
    (("しました",), rf"{_NAMED}[^!?\n]{{0,40}}?(?:作成|保存|生成|更新|修正|追加|書き込み|変更)(?:を)?しました"),
    (("했습니다",), rf"{_NAMED}[^!?\n]{{0,40}}?(?:생성|저장|작성|수정|추가|업데이트)(?:을|를)?\s?했습니다"),
)  # fmt: skip
"""The answer says that the speaker wrote a file, which it names: words of which one stands in it, and the claim."""
