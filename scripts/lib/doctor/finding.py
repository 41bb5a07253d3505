"""A line of the doctor's report."""
import dataclasses

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclasses.dataclass(frozen=True)
class Finding:
    state: str
    topic: str
    text: str
    remedy: str = ""

    def line(self):
        return f"{self.state:<5} {self.topic}: {self.text}" + (f" {self.remedy}" if self.remedy else "")


def ok(topic, text):
    return Finding(OK, topic, text)


def warn(topic, text, remedy):
    return Finding(WARN, topic, text, remedy)


def fail(topic, text, remedy):
    return Finding(FAIL, topic, text, remedy)


def worst(findings):
    return max((finding.state for finding in findings), key=(OK, WARN, FAIL).index, default=OK)
