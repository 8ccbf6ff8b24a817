"""Settings: the environment, the arguments, and what is said of a bad value."""

from dataclasses import fields

import pytest
from spanward.config import DIRECTIVE_KINDS, VARIABLES, Settings


def test_defaults_need_nothing():
    """Without any variable the settings are those of a detector on this host."""
    settings = Settings.from_env({})

    assert settings == Settings()
    assert settings.endpoint == settings.spans_target == "127.0.0.1:4327"
    assert settings.hold == "always"
    assert not settings.capture_content


def test_every_setting_has_a_variable():
    """Each field can be set from outside."""
    assert {item.name for item in fields(Settings)} == set(VARIABLES)
    assert all(VARIABLES.values())


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("SPANWARD_ENDPOINT", "10.0.0.1:4327", "endpoint", "10.0.0.1:4327"),
        ("SPANWARD_SPANS_ENDPOINT", "collector:4317", "spans_target", "collector:4317"),
        ("OTEL_SERVICE_NAME", "refunds", "service_name", "refunds"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true", "capture_content", True),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY", "capture_content", True),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "NO_CONTENT", "capture_content", False),
        ("SPANWARD_HOLD", "Suspect", "hold", "suspect"),
        ("SPANWARD_HOLD_MIN_MS", "20", "hold_min_ms", 20.0),
        ("SPANWARD_HOLD_MAX_MS", "500", "hold_max_ms", 500.0),
        ("SPANWARD_DIGEST_KEY", "secret", "digest_key", b"secret"),
        ("SPANWARD_HTTP", "off", "http", False),
        ("SPANWARD_LOCALE", "de", "locale", "de"),
        ("SPANWARD_DISABLED", "1", "disabled", True),
        ("OTEL_SDK_DISABLED", "true", "disabled", True),
        ("SPANWARD_PAUSE_LEASE_S", "5", "pause_lease_s", 5.0),
        ("SPANWARD_ALLOWED_DIRECTIVES", "pause, resume", "allowed_directives", frozenset({"pause", "resume"})),
        ("SPANWARD_ALLOWED_TOOLS", "a,b,", "allowed_tools", frozenset({"a", "b"})),
        ("SPANWARD_EXIT_CLASS", "base", "exit_class", "base"),
        ("SPANWARD_APPROVAL_WAIT_S", "3", "approval_wait_s", 3.0),
        ("SPANWARD_JOURNAL", "/tmp/j", "journal", "/tmp/j"),
    ],
)
def test_variable_sets_its_field(variable, text, name, value):
    """A variable is parsed into its field's own type."""
    assert getattr(Settings.from_env({variable: text}), name) == value


@pytest.mark.parametrize(
    ("variable", "text", "hint"),
    [
        ("SPANWARD_ENDPOINT", "localhost", "HOST:PORT"),
        ("SPANWARD_ENDPOINT", "host:99999", "HOST:PORT"),
        ("SPANWARD_HOLD", "sometimes", "always, suspect, never"),
        ("SPANWARD_HOLD_MAX_MS", "soon", "a number between"),
        ("SPANWARD_HOLD_MAX_MS", "nan", "a number between"),
        ("SPANWARD_HTTP", "maybe", "true or false"),
        ("SPANWARD_ALLOWED_DIRECTIVES", "pause,explode", "unknown directive 'explode'"),
    ],
)
def test_bad_variable_says_what_to_write(variable, text, hint):
    """The message names the variable, its value and what would be right."""
    with pytest.raises(ValueError, match=hint) as caught:
        Settings.from_env({variable: text})

    assert variable in str(caught.value)
    assert repr(text) in str(caught.value)


def test_arguments_win_over_the_environment():
    """What the code says counts more than what the shell says."""
    settings = Settings.from_env({"SPANWARD_HOLD": "never", "SPANWARD_LOCALE": "de"}, hold="always")

    assert settings.hold == "always"
    assert settings.locale == "de"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"hold": "yes"}, "always, suspect, never"),
        ({"endpoint": "nowhere"}, "HOST:PORT"),
        ({"hold_max_ms": -1}, "a number between"),
        ({"allowed_directives": {"explode"}}, "unknown directive"),
        ({"http": "yes please"}, "true or false"),
        ({"capture_content": 1.5}, "true or false"),
        ({"hold": True}, "always, suspect, never"),
    ],
)
def test_bad_argument_says_what_to_write(arguments, hint):
    """Arguments are checked as variables are."""
    with pytest.raises(ValueError, match=hint):
        Settings.from_env({}, **arguments)


def test_arguments_of_the_right_type_are_taken():
    """Sets, numbers and bytes need not be written as text."""
    settings = Settings.from_env(
        {}, allowed_directives=["pause"], hold_min_ms=1, digest_key=b"k", disabled=False, allowed_tools={"x"}
    )

    assert settings.allowed_directives == {"pause"}
    assert settings.hold_min_ms == 1.0
    assert settings.digest_key == b"k"
    assert settings.allowed_tools == {"x"}


def test_unknown_argument_is_refused():
    """A misspelt setting is an error, with the list of those that there are."""
    with pytest.raises(TypeError, match="no setting 'holdd'"):
        Settings.from_env({}, holdd="never")


def test_crossed_bounds_are_refused():
    """A minimum above the maximum cannot be meant."""
    with pytest.raises(ValueError, match="SPANWARD_HOLD_MIN_MS <= SPANWARD_HOLD_MAX_MS"):
        Settings.from_env({"SPANWARD_HOLD_MIN_MS": "300"})


def test_all_directives_are_allowed_by_default():
    """The default accepts every kind that the protocol knows."""
    assert Settings().allowed_directives == DIRECTIVE_KINDS
    assert "terminate" in DIRECTIVE_KINDS
