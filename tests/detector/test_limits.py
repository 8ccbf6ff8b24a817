"""Limits have many wordings and come under any status: calls that come too often, and contexts that hold no more."""

from __future__ import annotations

import pytest
from spanward.facts import result_facts
from spanward.facts.limits import is_too_much, is_too_often
from spanward_detector.outcome import classify

from tests.detectors.script import Script

TOO_OFTEN = [
    "Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-4o'}}",
    "You exceeded your current quota, please check your plan and billing details.",
    "RESOURCE_EXHAUSTED: Resource has been exhausted (e.g. check quota).",
    "ThrottlingException: Too many tokens, please wait before trying again.",
    "Request was throttled. Expected available in 12 seconds.",
    "Rate exceeded",
    "TooManyRequestsException",
    "SlowDown: Please reduce your request rate.",
    "Please slow down.",
    "Limit 30000 TPM reached, requested 1200. Please try again in 2.1s",
    "You have reached your requests per day limit",
    "You've hit your limit · resets 3am",
    "5-hour limit reached ∙ resets 7pm",
    "Usage limit reached for this model. Try again at 14:00.",
    "Weekly usage limit exceeded",
    "You have exhausted your capacity on this model. Your quota will reset after 3h",
    "Too Many Requests",
    "请求过于频繁，请稍后再试",
    "您的请求频率过高",
    "调用频率超过限制",
    "触发限流",
    "リクエストが多すぎます",
    "レート制限を超えました",
    "요청이 너무 많습니다",
    "Demasiadas solicitudes",
    "Trop de requêtes",
    "Zu viele Anfragen",
    "Ratenlimit überschritten",
    "Te veel verzoeken",
    "Слишком много запросов",
    "Troppe richieste",
    "Muitas solicitações",
    "concurrent request limit exceeded",
    "Concurrency limit reached",
    "max concurrency exceeded",
    "Request rate is too high",
    "API call frequency exceeded",
    "QPS limit exceeded",
    "Quota exceeded for quota metric 'Generate requests'",
    "quota_exceeded",
    "insufficient_quota",
    "rateLimitExceeded",
    "userRateLimitExceeded",
    "dailyLimitExceeded",
    "You have been rate-limited",
    "Flood control exceeded. Retry in 13 seconds",
    "FLOOD_WAIT_42",
    "API rate limit exceeded for 1.2.3.4",
]
NAMED = [
    "tokens per minute (TPM): Limit 8000, Used 7800, Requested 900",
    "exceeded the rate",
    "rate_limit_error",
    "Secondary rate limit",
    "abuse detection mechanism",
    "ratelimited",
    "Rate-Limit hit",
]
TOO_MUCH = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Input is too long for requested model.",
    "context_length_exceeded",
    "Requested tokens (5000) exceed context window of 4096",
    "exceeds the available context size (4096 tokens)",
    "the request exceeds the available context size. try increasing the context size",
    "Please reduce the length of the messages or completion.",
    "string too long",
    "Request too large for gpt-4o",
    "Your input exceeds the context window of this model.",
    "This endpoint's maximum context length is 128000 tokens",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "total tokens 140000 exceed max model len 131072",
    "The decoder prompt (length 140000) is longer than the maximum model length of 131072.",
    "max_tokens must be at least 1, got -300",
    "too many tokens: max 128000",
    "输入长度超过模型最大上下文",
    "tokens + max_new_tokens must be <= 4096",
    "Range of input length should be [1, 30720]",
    "model context limit exceeded",
    "messages too long",
    "conversation is too long",
    "Conversation too long",
    "exceeded model token limit: 8192",
    "maximum prompt length is 131072 but the request contains 140000 tokens",
    "The prompt is too long: 140000, model maximum context length: 131071",
]
NEITHER = [
    "The exchange rate has reached 1.2",
    "Growth rate exceeded 5%",
    "Rate limit: 60 requests per minute",
    "Your call has reached the centre",
    "Flood warnings: none",
    "Daily limit: 5 GB",
    "Order created, limit 5 per customer",
]


@pytest.mark.parametrize("status", [0, 400, 403, 503])
@pytest.mark.parametrize("text", [*TOO_OFTEN, *NAMED])
def test_a_model_that_is_called_too_often_is_rate_limited_whatever_the_status(text: str, status: int) -> None:
    """Gateways give such errors the status of something else; the words decide."""
    step = Script().llm(error="APIStatusError", text=text, status=status)

    assert classify(step).type == "rate_limited"
    assert classify(step).transient


@pytest.mark.parametrize("text", TOO_OFTEN)
def test_a_tool_that_says_so_under_a_status_of_success_is_rate_limited(text: str) -> None:
    """Its own text is enough, and so is an error field; what the gate tells carries 429, so no content is needed."""
    for result in (text, f"Error: {text}", '{"error": "' + text + '"}'):
        assert classify(Script().tool("look_up_order", result=result)).type == "rate_limited"
        assert classify(Script(content=False).tool("look_up_order", result=result)).type == "rate_limited"


@pytest.mark.parametrize("text", TOO_MUCH)
@pytest.mark.parametrize("status", [0, 400, 413, 503])
def test_a_context_that_holds_no_more_is_told_from_other_refusals(text: str, status: int) -> None:
    """Trying again cannot help, whatever the status."""
    assert classify(Script().llm(error="APIStatusError", text=text, status=status)).type == "context_overflow"


@pytest.mark.parametrize("text", NEITHER)
def test_a_text_that_speaks_of_a_limit_is_no_error(text: str) -> None:
    """Rates and limits are also what tools are asked about."""
    assert result_facts(text).error == ""


def test_too_many_tokens_a_minute_is_no_matter_of_the_context() -> None:
    """Both speak of tokens; one passes by itself and the other does not."""
    text = "This request would exceed your organization's rate limit of 40,000 input tokens per minute."
    step = Script().llm(error="APIStatusError", text=text, status=400)

    assert classify(step).type == "rate_limited"
    assert is_too_often("ThrottlingException: Too many tokens, please wait before trying again.")
    assert not is_too_much("The order is too large for the van.")
