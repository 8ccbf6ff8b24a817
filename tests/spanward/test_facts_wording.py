"""Does a text say that the tool failed? Tables, by language, of what does and of what only looks like it."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward.facts import error_signature, foreign_text_tool, result_facts
from spanward.facts.page_phrases import PAGE_PHRASES, PAGE_STEMS
from spanward.facts.phrases import LANGUAGES
from spanward.semconv import ERROR_SIGNS

from tests.outputs import outputs

# --- text -------------------------------------------------------------------------------------------------------------

FAILING_TEXT = {
    "en": [
        "Error: order not found", "ERROR - disk full", "[ERROR] cannot connect", "**Error:** bad city",
        "❌ Error: nope", "Error", "ValueError: bad city", "requests.exceptions.HTTPError: 404 Client Error",
        "Error (code 17): x", "Error 404: x", "error\nx", "validation_error: x", "Internal error: x",
        "Failed to fetch the page", "Unable to reach host", "An error occurred while x",
        "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'a'", "Internal Server Error",
        "Permission denied", "missing required parameter: owner",
        "1 validation error for get_weather\ncity\n  Field required", "panic: nil map", "The order was not found.",
        "City not found: 北京@2024", "User 17 does not exist", "Payment failed", "request timed out",
        "/bin/bash: line 1: python: command not found", "ls: cannot access 'x': No such file or directory",
        "503 backend error", "order service returned 503 Service Unavailable", "cat: a.txt: Permission denied",
        "get_wether is not a valid tool", "Error: get_wether is not a valid tool, try one of [a]", "HTTP 500",
        "404 Client Error: Not Found for url", "Cannot find order 7", "Invalid date format", "Timeout",
        "An error occurred while running the tool. Please try again.", "Tool 'x' failed",
        "rate limit exceeded, please try again later",
        "output\nmore\nTraceback (most recent call last):\n  File \"a.py\", line 1\nZeroDivisionError: by zero",
    ],
    "de": [
        "Fehler: Stadt unbekannt", "Laufzeitfehler: x", "Es ist ein Fehler aufgetreten.", "Zugriff verweigert",
        'Der Befehl ".agent" ist entweder falsch geschrieben oder\nkonnte nicht gefunden werden.',
        "Datei nicht gefunden", "Die Datei konnte nicht geöffnet werden.",
        "Anfrage fehlgeschlagen: Zeitüberschreitung", "Ungültiger Parameter: Stadt", "Der Parameter stadt fehlt.",
        "Die Bestellung 17 existiert nicht.", "Zeitüberschreitung bei der Anfrage",
    ],
    "es": [
        "Error al conectar con el servidor", "Error: ciudad desconocida", "No se pudo completar la operación",
        "Acceso denegado", "El pedido no fue encontrado", "Ciudad no encontrada: París",
        "Se produjo un error interno", "La operación ha fallado", "Falta el parámetro ciudad",
        "El parámetro ciudad es obligatorio",
    ],
    "fr": [
        "Erreur : ville inconnue", "Une erreur s’est produite", "Impossible de se connecter", "Accès refusé",
        "Fichier introuvable", "La commande n'existe pas", "Le fichier n'a pas pu être ouvert",
        "La requête a échoué", "Paramètre manquant : ville", "Échec de la connexion",
    ],
    "nl": [
        "Fout: stad onbekend", "Fout bij het ophalen", "Er is een fout opgetreden", "Toegang geweigerd",
        "Bestand niet gevonden", "De bestelling kon niet worden gevonden", "De aanvraag is mislukt",
        "Ongeldige invoer", "Gebruiker 5 bestaat niet",
    ],
    "hu": [
        "Hiba: ismeretlen város", "Hiba történt a lekérdezés közben", "A rendelés nem található",
        "Hozzáférés megtagadva", "Nem sikerült kapcsolódni", "Érvénytelen paraméter: város",
        "A felhasználó nem létezik", "Hálózati hiba: x", "Hiányzó kötelező paraméter: város",
    ],
    "zh": [
        "错误：城市名称无效", "查询失败", "城市不存在：北京@2024", "发生错误，请稍后重试", "无法连接服务器",
        "参数错误", "请求超时", "权限不足", "查询失败：网络异常", "未找到城市 北京@2024", "系统异常",
    ],
    "pt": [
        "Erro: cidade desconhecida", "Erro ao buscar dados", "Não foi possível conectar",
        "Arquivo não encontrado", "A operação falhou",
    ],
    "it": [
        "Errore: città sconosciuta", "Si è verificato un errore", "Impossibile connettersi",
        "File non trovato", "Accesso negato",
    ],
    "ja": [
        "エラー: 都市が不明です", "エラーが発生しました", "ファイルが見つかりません",
        "接続に失敗しました", "アクセスが拒否されました",
    ],
    "ru": ["Ошибка: город не найден", "Произошла ошибка", "Внутренняя ошибка сервера: x", "Заказ 5 не найден"],
    "ko": ["오류: 알 수 없는 도시", "파일을 찾을 수 없습니다", "시스템 오류: 연결 실패", "요청이 실패했습니다"],
    "pl": ["Błąd: nieznane miasto", "Nie udało się połączyć", "Plik x.txt nie istnieje"],
    "tr": ["Hata: bilinmeyen şehir", "Bir hata oluştu", "Dosya bulunamadı"],
    "sv": ["Fel: okänd stad", "Ett fel uppstod", "Filen hittades inte"],
    "da": ["Fejl: ukendt by", "Der opstod en fejl", "Filen blev ikke fundet", "Brukeren finnes ikke"],
    "cs": ["Chyba: neznámé město", "Došlo k chybě", "Soubor nebyl nalezen"],
    "uk": ["Помилка: невідоме місто", "Сталася помилка", "Файл не знайдено"],
    "vi": ["Lỗi: thành phố không hợp lệ", "Đã xảy ra lỗi", "Tệp không tồn tại"],
    "ro": ["Eroare: oraș necunoscut", "A apărut o eroare", "Fișierul nu există"],
    "fi": ["Virhe: tuntematon kaupunki", "Tapahtui virhe", "Tiedostoa ei löydy"],
    "el": ["Σφάλμα: άγνωστη πόλη", "Παρουσιάστηκε σφάλμα"],
    "ar": ["خطأ: المدينة غير معروفة", "حدث خطأ غير متوقع", "لم يتم العثور على الملف"],
    "he": ["שגיאה: העיר לא נמצאה", "אירעה שגיאה"],
    "hi": ["त्रुटि: शहर नहीं मिला", "एक त्रुटि हुई"],
    "th": ["ข้อผิดพลาด: ไม่พบเมือง", "เกิดข้อผิดพลาด"],
    "id": ["Kesalahan: kota tidak dikenal", "Terjadi kesalahan", "Berkas tidak ditemukan"],
}  # fmt: skip

QUIET_TEXT = [
    "sunny, 21 degrees", "12:00", "running", "[10%] building", "2 hits", "No changes made", "ok", "wrote 18 bytes",
    "Email sent! id=1", "The word error appears on this page three times.", "Errors and how to handle them: a guide",
    "Error handling in Go is explicit.", "Error: none", "Errors: 0", "error: 0", "Fehler: keine", "Fehler: 0",
    "Erreur : aucune", "错误：无", "Error rate: 5%", "Error: 2.5%", "Failed: 0, Passed: 10", "2 passed, 1 failed",
    "No results found", "no matches found", "The search string 'x' was not found", "Keine Ergebnisse gefunden",
    "No se encontraron resultados", "Aucun résultat trouvé", "Geen resultaten gevonden", "Nincs találat",
    "未找到相关结果", "没有找到匹配的记录", "Virus not found", "Terror: a history", "margin of error: 3%",
    "error-free run", "Forbidden City, Beijing", "Timeout set to 30 s", "killed 3 processes", "The visa is required.",
    "Cannot be combined with other offers.", "404 people came", "query returned 500 rows",
    "The 404 not found page has a new look", "500 days of summer", "default: 5", "Exception handling is chapter 4",
    "text 1", "Der Fehler wurde behoben.", "La fiesta fue un éxito",
    "Das Konto wurde angelegt. Hinweis: Fehler können über das Formular gemeldet werden.", "A hiba javítva lett.",
    "错误已修复", "不客气", "De fout is opgelost.", "deleted 0 files", "1000", "true", "", "   ",
    "exitcode: 0 (execution succeeded)\nError: ignored", "My first attempt failed, but the retry worked.",
    "第一次失败，第二次成功了", "Unit 7 was found and does not exist twice", "Pedido entregado",
    "All tests passed; 0 failed", "Совпадений не найдено", "검색 결과를 찾을 수 없습니다", "Sonuç bulunamadı",
    "Nie znaleziono wyników", "لم يتم العثور على نتائج", "Kunde inte hitta några resultat", "Tuloksia ei löytynyt",
    "API returned 500 rows", "The query returned 404 items", "Smoking is not allowed on board of our ships, dear",
    "Inga resultat hittades inte", "Ошибка исправлена.", "Standard Error: 0.3", "✅ Error handling added",
    "❌ 2 of 10 checks", "Search Results: Error handling in Go", '{"success": true, "content": "No errors found"}',
]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text"),
    [(language, text) for language, items in FAILING_TEXT.items() for text in items],
    ids=lambda v: v[:50],
)
def test_a_tools_own_text_reports_a_failure_in_its_language(language: str, text: str) -> None:
    """Labels, openings and endings are known in each language, and a success status changes nothing."""
    assert language in LANGUAGES
    for wrapped in (text, f"  {text}\n", json.dumps(text), json.dumps({"result": text}, ensure_ascii=False)):
        assert result_facts(wrapped).error == "text"
        assert result_facts(wrapped, is_error=False).error == "text"


@pytest.mark.parametrize(
    "text",
    [
        "❌ A2A Node Error: Unknown tool: x. Is the node running?", "Search API Error: quota",
        "⛔ Zugriff Fehler: nein",
        '{"success": true, "content": "Failed to edit file: the string was not found"}',
        '{"ok": true, "message": "Error: no such user"}',
    ],
)  # fmt: skip
def test_a_failure_is_seen_behind_a_mark_a_name_or_a_flag_that_is_always_set(text: str) -> None:
    """What a few words later or beside a flag says that it failed is no success; of a foreign text it says nothing."""
    assert result_facts(text).error in ("text", "field")
    assert result_facts(text, foreign_text=True).error == ""


@pytest.mark.parametrize("text", QUIET_TEXT, ids=lambda v: v[:50])
def test_a_text_that_only_speaks_of_errors_is_a_success(text: str) -> None:
    """Searches that find nothing, counts, quantities, titles and stories are no failure."""
    assert result_facts(text).error == ""


@pytest.mark.parametrize("text", [t for items in FAILING_TEXT.values() for t in items])
def test_the_words_of_a_foreign_text_are_no_sign(text: str) -> None:
    """A file or a page may begin with any words: it was read well all the same."""
    assert result_facts(text, foreign_text=True).error == ""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Error: File does not exist: src/a.ts", "text"), ("ENOENT: no such file or directory, open 'a'", "text"),
        ("Fehler: Datei nicht gefunden", "text"),
        ("错误：文件不存在", "text"), ("Error: page timed out", "text"),
        ("'pnpm' não é reconhecido como um comando interno\nou externo", "text"),
        ("ConnectionError: ('Connection aborted.', ConnectionResetError(10054, 'x'))", "text"),
        ("Error: the pasta was cold", ""), ("Errors in this file are listed below.", ""),
        ("Error: file 1 of 3\nError: file 2 of 3\nError: file 3 of 3", ""),
        ("Error: this file explains what errors are. " * 9, ""),
    ],
)  # fmt: skip
def test_a_short_word_of_a_failed_access_is_the_reading_tools_own(text: str, error: str) -> None:
    """Where only the tool's name says that it brings texts of others; where that is stated, words prove nothing."""
    assert result_facts(text, foreign_text=foreign_text_tool("read_file")).error == error
    assert result_facts(text, foreign_text=True).error == ""
    assert foreign_text_tool("translate_text") is True


def test_a_long_text_that_begins_like_a_failure_is_a_text() -> None:
    """Openings and endings count in short texts; a story may begin with any sentence."""
    story = "Failed to notice the rain, she walked on. " * 60

    assert result_facts(story).error == ""


def test_language_tables_are_complete_and_lower_case() -> None:
    """Every language of the table has a label and an opening, written as they are compared; every page has a stem."""
    for phrases in LANGUAGES.values():
        assert phrases.labels
        assert phrases.openings
        for group in (phrases.openings, phrases.short_openings, phrases.endings, phrases.nothing):
            assert all(item == item.lower() for item in group)
    assert set(FAILING_TEXT) == set(LANGUAGES)
    assert [phrase for phrase in PAGE_PHRASES if not any(stem in phrase for stem in PAGE_STEMS)] == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("exitcode: 1 (execution failed)\nCode output: x", 1), ("Exit code: 127", 127), ("[exit code: 2]", 2),
        ("a\nb\nexit code 3", 3), ("Process finished with exit code 4", 4), ("exited with code 5", 5),
        ("Command '['x']' returned non-zero exit status 6.", 6), ("Command failed with exit code 7", 7),
        ("exitcode: 0 (execution succeeded)\nx", 0), ("Exit code: 0", 0),
        ("The exit codes of grep are explained below", None), ("exit through the gift shop", None),
        ("return code review by 5", None),
    ],
)  # fmt: skip
def test_exit_codes_in_text(text: str, code: int | None) -> None:
    """Runners write the exit code in the first or last line; prose about exit codes is prose."""
    facts = result_facts(text)

    assert facts.exit_code == code
    assert facts.error == ("exit_code" if code else "")


def test_a_runner_of_programs_tells_its_exit_code_above_foreign_output() -> None:
    """The first line is the runner's own also where the rest is not; the last line may be the output's."""
    assert result_facts("exitcode: 1 (execution failed)\nx", foreign_text=True).error == "exit_code"
    assert result_facts("a log\nexit code 3", foreign_text=True).error == ""


# --- pages ------------------------------------------------------------------------------------------------------------

PAGES = [
    "You've been blocked by network security. To continue, log in to your account or use your developer token",
    "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>",
    "<html><head><title>Attention Required! | Cloudflare</title></head><body>You have been blocked</body></html>",
    "<html><head><TITLE>403 Forbidden</TITLE></head><body><h1>403 Forbidden</h1></body></html>",
    "<html><title>Sign in · Example</title><body><form>…</form></body></html>",
    "<html><head><title>404</title></head><body></body></html>",
    "Address: https://example.org/a\nTitle: Error 403\nViewport position: Showing page 1 of 1.\n====\n## Error 403",
    "Please verify you are human by completing the action below.", "Bitte melden Sie sich an, um fortzufahren.",
    "Veuillez vous connecter pour continuer.", "请先登录后再查看。", "请完成验证后继续访问",
    "Inicie sesión para continuar.", "Log in om verder te gaan.", "Jelentkezzen be a folytatáshoz.",
    "続けるにはログインしてください", "Our systems have detected unusual traffic from your computer network.",
]  # fmt: skip

KEPT_OUT = outputs("pages/kept_out.txt")
READ = outputs("pages/read.txt")
NOT_PAGES = [
    "<html><head><title>404 Not Found - HTTP | Docs</title></head><body>"
    + "The status means a lot. " * 200
    + "</body></html>",
    "<html><head><title>Error handling</title></head><body>How to sign in to services</body></html>",
    "Search results\nTitle: How to solve an error 403 in a web server\nTitle: Login forms in CSS",
    "How CAPTCHAs work: a history of telling people from robots.",
    "The page explains what an error is. " * 30,
    "Our login page has a new look. " * 60,
    "<html><head><title>Weather</title></head><body>Sunny</body></html>",
]


@pytest.mark.parametrize("text", PAGES, ids=lambda v: v[:40])
def test_block_and_login_pages_are_failures_of_any_tool(text: str) -> None:
    """A page that keeps the tool out is not the page that was asked for."""
    for foreign in (True, False):
        assert result_facts(text, foreign_text=foreign).error == "page"


@pytest.mark.parametrize("name", KEPT_OUT)
def test_pages_of_real_sites_that_keep_a_reader_out(name: str) -> None:
    """Checks for robots, walls, errors and logins as sites and their guards word them, read as text."""
    assert result_facts(KEPT_OUT[name], foreign_text=foreign_text_tool("fetch_page")).error in ("page", "text")


@pytest.mark.parametrize("name", READ)
def test_pages_that_only_speak_of_such_things(name: str) -> None:
    """News with a line on cookies, guides to logins, a film of that name, the source of an app."""
    assert result_facts(READ[name], foreign_text=foreign_text_tool("fetch_page")).error == ""


@pytest.mark.parametrize("text", NOT_PAGES, ids=lambda v: v[:40])
def test_pages_about_errors_and_logins_are_pages(text: str) -> None:
    """A page that merely contains such words is what was asked for."""
    assert result_facts(text, foreign_text=True).error == ""


@given(st.text(max_size=400), st.booleans())
def test_any_text_gives_facts(text: str, foreign: bool) -> None:
    """No text raises, and the sign is always one of the known ones."""
    facts = result_facts(text, foreign_text=foreign)

    assert facts.error in {"", *ERROR_SIGNS}
    assert bool(facts.signature) == bool(facts.error)


@pytest.mark.parametrize(
    "text",
    [
        "<" * 200_000, "'" * 200_000, "error " * 50_000, "a" * 1_000_000, "[" * 200_000, "{" * 19_000,
        "<title>" * 2_500, "\n" * 200_000, "a.b" * 100_000, "error: " + "9" * 1_000_000,
        '{"error": "' + "x'" * 500_000 + '"}', "exit code " * 50_000, "sh: " * 400, "fehler" * 2_000,
        "<script>" * 2_400, "konnte nicht " * 20,
    ],
    ids=lambda v: v[:12],
)  # fmt: skip
def test_hostile_text_costs_no_time(text: str) -> None:
    """Patterns are linear and capped."""
    started = time.thread_time()
    result_facts(text)
    error_signature(text)

    assert time.thread_time() - started < 5
