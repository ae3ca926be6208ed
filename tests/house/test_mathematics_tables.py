from tools import mathematics


def test_coefficients_are_those_that_the_tool_writes():
    assert mathematics.TARGET.read_text("utf-8") == mathematics.text()
