"""Reads a mail with Python's email library, as an independent check of Satchel's MIME."""
import hashlib
from email import message_from_bytes, policy


def report(content):
    """The parts of a mail's bytes that tests check; `defects` lists violations of the standards."""
    message = message_from_bytes(content, policy=policy.SMTP)
    defects = [repr(defect) for part in message.walk() for defect in part.defects]
    defects += [f"{name}: {defect!r}" for name, value in message.items() for defect in value.defects]
    defects += [f"line of {len(line)} bytes" for line in content.split(b"\r\n") if len(line) > 998]
    defects += ["bare line feed"] * (content.count(b"\n") != content.count(b"\r\n"))
    defects += ["byte over 127"] * any(byte > 127 for byte in content)
    texts = {part.get_content_type(): part.get_content() for part in message.walk() if not part.is_multipart()}
    return {
        "from": [str(address) for address in message["From"].addresses],
        "to": [address.addr_spec for address in message["To"].addresses],
        "toName": message["To"].addresses[0].display_name,
        "replyTo": [address.addr_spec for address in message["Reply-To"].addresses] if message["Reply-To"] else [],
        "headers": [name.lower() for name in message.keys()],
        "subject": str(message["Subject"]),
        "date": message["Date"].datetime.timestamp(),
        "messageId": str(message["Message-ID"]),
        "type": message.get_content_type(),
        "text": texts.get("text/plain", ""),
        "html": texts.get("text/html", ""),
        "defects": defects,
        "sha256": hashlib.sha256(content).hexdigest(),
    }
