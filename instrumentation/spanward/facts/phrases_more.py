# ruff: noqa: E501 -- lists of words in wide characters
"""How tools say that something failed in further languages; the tables of the first ten are longer."""

from __future__ import annotations

from typing import Final

from spanward.facts.phrase_model import Phrases

MORE: Final[dict[str, Phrases]] = {
    "ru": Phrases(
        labels=("(?:внутренняя |неизвестная |системная |критическая )?ошибка(?: [а-яё]+){0,3}", "исключение", "сбой"),
        openings=(
            "произошла ошибка", "ошибка при ", "не удалось ", "доступ запрещ", "в доступе отказано", "невозможно ",
            "превышено время ожидания", "неизвестная ошибка", "недостаточно прав", "сервис недоступен",
        ),
        short_openings=("неверный ", "неверная ", "неверное ", "недопустим", "некорректн", "отсутствует обязательн"),
        endings=(
            " не найден", " не найдена", " не найдено", " не существует", " недоступен", " недоступна", " не удалось",
            " запрещён", " запрещен",
        ),
        nothing=("результат", "совпаден", "ничего"),
    ),
    "ko": Phrases(
        labels=("[가-힣]{0,8} ?오류", "[가-힣]{0,8} ?에러", "예외", "실패"),
        openings=("오류가 발생", "요청에 실패", "접근이 거부", "알 수 없는 오류", "권한이 없", "시간이 초과"),
        endings=(
            "찾을 수 없습니다", "존재하지 않습니다", "실패했습니다", "오류가 발생했습니다", "유효하지 않습니다",
            "거부되었습니다", "할 수 없습니다", "초과되었습니다", "올바르지 않습니다",
        ),
        nothing=("결과", "일치"),
    ),
    "pl": Phrases(
        labels=("błąd(?: [a-ząćęłńóśźż]+){0,3}", "wyjątek"),
        openings=(
            "wystąpił błąd", "błąd podczas ", "nie udało się ", "odmowa dostępu", "brak dostępu", "brak uprawnień",
            "przekroczono czas", "nie można ", "nieznany błąd", "nieoczekiwany błąd",
        ),
        short_openings=("nieprawidłow", "niepoprawn", "brak wymagan", "nie znaleziono ", "brak pliku"),
        endings=(" nie znaleziono", " nie istnieje", " jest nieprawidłowy", " niedostępny", " niedostępna"),
        nothing=("wynik", "dopasowa"),
    ),
    "tr": Phrases(
        labels=("(?:[a-zçğıöşü]+ )?hata(?:sı)?", "istisna"),
        openings=("bir hata oluştu", "hata oluştu", "beklenmeyen bir hata", "erişim reddedildi", "geçersiz "),
        endings=(" bulunamadı", " mevcut değil", " başarısız oldu", " reddedildi", " zaman aşımına uğradı"),
        nothing=("sonuç", "eşleşme"),
    ),
    "sv": Phrases(
        labels=("(?:[a-zåäö]+)?fel",),
        openings=("ett fel uppstod", "ett oväntat fel", "det gick inte att ", "åtkomst nekad"),
        short_openings=("kunde inte ",),
        endings=(" hittades inte", " finns inte", " misslyckades"),
        nothing=("resultat", "träff"),
    ),
    "da": Phrases(
        labels=("fejl", "feil"),
        openings=("der opstod en fejl", "det oppstod en feil", "adgang nægtet", "tilgang nektet", "kunne ikke "),
        endings=(
            " blev ikke fundet", " findes ikke", " mislykkedes", " ble ikke funnet", " finnes ikke", " mislyktes",
        ),
        nothing=("resultat",),
    ),
    "cs": Phrases(
        labels=("(?:[a-zěščřžýáíéúůďťň]+ )?chyba", "výjimka"),
        openings=("došlo k chybě", "nastala chyba", "nepodařilo se ", "přístup odepřen"),
        endings=(" nebyl nalezen", " nebyla nalezena", " nebylo nalezeno", " neexistuje"),
        nothing=("výsled",),
    ),
    "uk": Phrases(
        labels=("помилка(?: [а-яіїєґ]+){0,3}", "виняток"),
        openings=("сталася помилка", "не вдалося ", "доступ заборонено"),
        endings=(" не знайдено", " не існує"),
        nothing=("результат",),
    ),
    "vi": Phrases(
        labels=("lỗi(?: [^\\W\\d_]{1,8}){0,3}",),
        openings=("đã xảy ra lỗi", "không thể kết nối", "từ chối truy cập"),
        endings=(" không tồn tại", " thất bại"),
        nothing=("kết quả",),
    ),
    "id": Phrases(
        labels=("kesalahan", "galat"),
        openings=("terjadi kesalahan", "gagal ", "akses ditolak"),
        endings=(" tidak ditemukan", " tidak valid"),
        nothing=("hasil",),
    ),
    "ro": Phrases(labels=("eroare(?: [a-zăâîșț]+){0,3}",), openings=("a apărut o eroare", "acces interzis"), endings=(" nu a fost găsit", " nu există"), nothing=("rezultat",)),
    "fi": Phrases(labels=("(?:[a-zäö]+)?virhe",), openings=("tapahtui virhe", "pääsy evätty"), endings=(" ei löydy", " ei löytynyt"), nothing=("tulok", "tulos")),
    "el": Phrases(labels=("σφάλμα(?: [α-ώ]+){0,3}",), openings=("παρουσιάστηκε σφάλμα", "δεν επιτρέπεται η πρόσβαση"), endings=(" δεν βρέθηκε", " δεν υπάρχει"), nothing=("αποτελέσμα",)),
    "ar": Phrases(labels=("خطأ(?: [\u0621-\u064a]+){0,3}",), openings=("حدث خطأ", "فشل في", "تم رفض الوصول"), short_openings=("لم يتم العثور على",), nothing=("نتائج", "نتيجة")),
    "he": Phrases(labels=("שגיאה(?: [א-ת]+){0,3}",), openings=("אירעה שגיאה", "הגישה נדחתה")),
    "hi": Phrases(labels=("त्रुटि",), openings=("एक त्रुटि हुई", "त्रुटि हुई")),
    "th": Phrases(labels=("ข้อผิดพลาด",), openings=("เกิดข้อผิดพลาด", "ไม่สามารถ")),
}  # fmt: skip
