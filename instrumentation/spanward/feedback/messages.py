"""What the end user reads when a run is stopped, paused or degraded. Says nothing about the run's content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DEFAULT_LOCALE: Final = "en"

MESSAGES: Final[Mapping[str, Mapping[str, str]]] = {
    "terminated": {
        "en": "The task was stopped because it could not be completed safely. Please try again or contact support.",
        "de": "Die Aufgabe wurde beendet, weil sie nicht sicher abgeschlossen werden konnte. Bitte versuchen "
        "Sie es erneut oder wenden Sie sich an den Support.",
        "es": "La tarea se detuvo porque no podía completarse de forma segura. Inténtelo de nuevo o póngase en "
        "contacto con el soporte.",
        "fr": "La tâche a été arrêtée car elle ne pouvait pas être menée à bien en toute sécurité. Veuillez "
        "réessayer ou contacter l'assistance.",
        "zh": "任务无法安全完成，已被停止。请重试或联系客服。",
        "nl": "De taak is gestopt omdat deze niet veilig kon worden voltooid. Probeer het opnieuw of neem "
        "contact op met de helpdesk.",
        "hu": "A feladat leállt, mert nem lehetett biztonságosan befejezni. Próbálja újra, vagy forduljon az "
        "ügyfélszolgálathoz.",
    },
    "budget": {
        "en": "The task was stopped because it reached its limit. What was done so far is kept.",
        "de": "Die Aufgabe wurde beendet, weil ihr Limit erreicht ist. Das bisher Erledigte bleibt erhalten.",
        "es": "La tarea se detuvo porque alcanzó su límite. Lo realizado hasta ahora se conserva.",
        "fr": "La tâche a été arrêtée car elle a atteint sa limite. Ce qui a été fait est conservé.",
        "zh": "任务已达到上限，已被停止。已完成的部分会保留。",
        "nl": "De taak is gestopt omdat de limiet is bereikt. Wat al gedaan is, blijft bewaard.",
        "hu": "A feladat leállt, mert elérte a korlátját. Az eddig elvégzett munka megmarad.",
    },
    "safety": {
        "en": "The task was stopped for safety reasons.",
        "de": "Die Aufgabe wurde aus Sicherheitsgründen beendet.",
        "es": "La tarea se detuvo por motivos de seguridad.",
        "fr": "La tâche a été arrêtée pour des raisons de sécurité.",
        "zh": "出于安全原因，任务已被停止。",
        "nl": "De taak is om veiligheidsredenen gestopt.",
        "hu": "A feladat biztonsági okokból leállt.",
    },
    "operator": {
        "en": "The task was stopped by an operator.",
        "de": "Die Aufgabe wurde von einer zuständigen Person beendet.",
        "es": "Un operador detuvo la tarea.",
        "fr": "La tâche a été arrêtée par un opérateur.",
        "zh": "任务已被操作人员停止。",
        "nl": "De taak is door een beheerder gestopt.",
        "hu": "A feladatot egy kezelő leállította.",
    },
    "paused": {
        "en": "The task is paused and waits for a person to look at it.",
        "de": "Die Aufgabe ist angehalten und wartet darauf, dass eine Person sie prüft.",
        "es": "La tarea está en pausa y espera a que una persona la revise.",
        "fr": "La tâche est en pause et attend qu'une personne l'examine.",
        "zh": "任务已暂停，等待人工处理。",
        "nl": "De taak is gepauzeerd en wacht tot iemand ernaar kijkt.",
        "hu": "A feladat szünetel, és arra vár, hogy valaki megnézze.",
    },
    "degraded": {
        "en": "A part of the service is unavailable right now, so this answer may be incomplete.",
        "de": "Ein Teil des Dienstes ist gerade nicht verfügbar; diese Antwort ist daher möglicherweise unvollständig.",
        "es": "Una parte del servicio no está disponible en este momento, por lo que esta respuesta puede "
        "estar incompleta.",
        "fr": "Une partie du service est indisponible pour le moment ; cette réponse peut donc être incomplète.",
        "zh": "部分服务暂时不可用，本次回答可能不完整。",
        "nl": "Een deel van de dienst is nu niet beschikbaar; dit antwoord is daarom mogelijk onvolledig.",
        "hu": "A szolgáltatás egy része jelenleg nem elérhető, ezért ez a válasz hiányos lehet.",
    },
    "unavailable": {
        "en": "{tool} is unavailable right now. Please go on without it or try again later.",
        "de": "{tool} ist gerade nicht verfügbar. Bitte fahren Sie ohne fort oder versuchen Sie es später erneut.",
        "es": "{tool} no está disponible en este momento. Continúe sin ello o inténtelo más tarde.",
        "fr": "{tool} est indisponible pour le moment. Veuillez continuer sans ou réessayer plus tard.",
        "zh": "{tool} 暂时不可用。请先跳过，或稍后再试。",
        "nl": "{tool} is nu niet beschikbaar. Ga verder zonder of probeer het later opnieuw.",
        "hu": "{tool} jelenleg nem elérhető. Folytassa nélküle, vagy próbálja meg később.",
    },
    "unavailable_for": {
        "en": "{tool} is unavailable for {seconds} s. Please go on without it or try again then.",
        "de": "{tool} ist für {seconds} s nicht verfügbar. Bitte fahren Sie ohne fort oder versuchen Sie es "
        "dann erneut.",
        "es": "{tool} no estará disponible durante {seconds} s. Continúe sin ello o inténtelo después.",
        "fr": "{tool} est indisponible pendant {seconds} s. Veuillez continuer sans ou réessayer ensuite.",
        "zh": "{tool} 在 {seconds} 秒内不可用。请先跳过，或届时再试。",
        "nl": "{tool} is {seconds} s niet beschikbaar. Ga verder zonder of probeer het daarna opnieuw.",
        "hu": "{tool} {seconds} másodpercig nem elérhető. Folytassa nélküle, vagy próbálja meg utána.",
    },
}
"""Message name, then language. English is complete; the others are used where they have the name."""

LIMITS: Final = frozenset({"max_steps", "max_tokens", "max_seconds", "step_limit", "token_budget", "cost_budget"})
"""Names of limits, for which "budget" is the message."""


def language(locale: str) -> str:
    """The language of a locale name such as ``de_AT.UTF-8`` or ``zh-Hans``."""
    return locale.replace("_", "-").partition("-")[0].partition(".")[0].lower()


def message(name: str, locale: str) -> str:
    """The raw message, in English where the language is not known; unknown names say "terminated"."""
    texts = MESSAGES.get("budget" if name in LIMITS else name) or MESSAGES["terminated"]
    return texts.get(language(locale)) or texts[DEFAULT_LOCALE]
