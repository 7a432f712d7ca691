"""Passwords become the values that RFC 5802's server stores."""

import base64
import hashlib
import hmac

import pytest

from kafka_edu.tools.scram_credentials import with_scram_credentials
from kafka_edu.tools.tool import ToolError


def test_the_password_can_be_proved_and_is_not_kept() -> None:
    kept = with_scram_credentials(
        "alice", {"SCRAM-SHA-256": "iterations=8192,password=a,b=c", "consumer_byte_rate": "5"}
    )
    assert kept["consumer_byte_rate"] == "5"
    fields = dict(field.split("=", 1) for field in kept["SCRAM-SHA-256"].split(","))
    assert fields["iterations"] == "8192"
    salted = hashlib.pbkdf2_hmac("sha256", b"a,b=c", base64.b64decode(fields["salt"]), 8192)
    assert base64.b64decode(fields["server_key"]) == hmac.digest(salted, b"Server Key", "sha256")
    assert (
        base64.b64decode(fields["stored_key"])
        == hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("secret", "Invalid credential property SCRAM-SHA-512=secret"),
        (
            "iterations=4095,password=a",
            "Iterations 4095 is less than the minimum 4096 required for SCRAM-SHA-512",
        ),
    ],
)
def test_what_is_no_credential(given: str, says: str) -> None:
    with pytest.raises(ToolError) as refused:
        with_scram_credentials("alice", {"SCRAM-SHA-512": given})
    assert str(refused.value) == says
