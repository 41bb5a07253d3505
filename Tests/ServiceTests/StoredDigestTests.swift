import GatewayService
import MailService
import ParseProtocol
import Testing
import UsersService

/// Digests that are stored and compared later, or that clients hold: another form of the same bytes would end every
/// session, invalidate every URL and reset every mailbox quota. The expected values were computed independently.
@Suite struct StoredDigestTests {
    @Test func aKeyedDigestStaysWhatItIs() {
        let key = AccountKey((0..<32).map { $0 })
        #expect(key.digest("ann", for: .device) == "3e6dd722705661e1670561c33d813abb9156c2aa145185c53866ed134aea7bff")
    }

    @Test func aRequestIdStaysWhatItIs() {
        let key = DeduplicationKeys(masterKey: "master")
            .key(id: "r1", method: "POST", path: "classes/Order", query: "", body: Array("{}".utf8))
        #expect(key == "r1 70000a56521711d28955ef2e3fdebf8e")
    }

    @Test func aSignedURLStaysWhatItIs() {
        let signer = FileSigner(key: [UInt8](repeating: 0, count: 32), seconds: 60)
        let query = signer.query(for: "a.jpg", now: Timestamp(milliseconds: 1_000_000))
        #expect(
            query == "expires=1060&signature=485681210d689d5a108972e6572b5c5bca1789e673e7a71b848eefba1a29411e")
    }

    /// The second digest begins with zeros.
    @Test func aMailboxStaysWhatItIs() {
        #expect(Mailbox("ann@shop.example").digest == "9ef8a31c528fe2b00a8135a601065f83")
        #expect(Mailbox("ann47@shop.example").digest == "008cfe015f903a3be3276dddcbf81700")
    }
}
