import GatewayService
import ParseProtocol
import Testing

/// Secrets that got into the log are not shown.
@Suite struct LogSecretsTests {
    @Test(arguments: ["a-long-secret", #"half\of"a-secret"#, #"ends-with\"#, "line\nof a secret", "schlüssel/ß"])
    func aSecretWithEscapedCharactersIsRedacted(_ secret: String) {
        let line: JSON = ["message": .string("Key \(secret)."), "metadata": ["key": .string(secret)]]
        #expect(LogSecrets([secret]).redacted(line) == ["message": "Key ….", "metadata": ["key": "…"]])
    }

    @Test func aSecretThatBeginsWithAnotherIsRedactedWhole() {
        let secrets = LogSecrets(["the-master-key", "the-master-key-for-reading"])
        #expect(secrets.redacted(["message": "the-master-key-for-reading"]) == ["message": "…"])
    }

    @Test func sessionTokensAreRedactedAndShortSecretsStay() {
        let line: JSON = ["message": .string("short r:" + String(repeating: "0a", count: 16))]
        #expect(LogSecrets(["short"]).redacted(line) == ["message": "short r:…"])
    }
}
