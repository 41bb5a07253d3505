import Cryptography
import Testing

/// Signing keys and verification keys.
@Suite struct KeyTests {
    private let message = Array("a message".utf8)

    @Test(arguments: [(TestKeys.rsa, SignatureAlgorithm.rsa, 256), (TestKeys.p256, .p256, 64)])
    func whatAKeySignedItsOwnerSigned(_ pem: String, _ algorithm: SignatureAlgorithm, _ count: Int) throws {
        let key = try PrivateKey(pem: pem)
        #expect(key.algorithm == algorithm && key.publicKey.algorithm == algorithm)
        let signature = try key.signature(of: message)
        #expect(signature.count == count)
        #expect(key.publicKey.isValid(signature, of: message))
        #expect(!key.publicKey.isValid(signature, of: message + [0]))
        #expect(!key.publicKey.isValid(signature, of: []))
        let zeros = [UInt8](repeating: 0, count: count)
        for wrong in [[], Array(signature.dropLast()), signature + [0], zeros] {
            #expect(!key.publicKey.isValid(wrong, of: message))
        }
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.publicKey.isValid(changed, of: message))
        }
    }

    /// Many threads use one key.
    @Test func aKeySignsForManyAtOnce() async throws {
        let key = try PrivateKey(pem: TestKeys.p256)
        let isGood = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in UInt8(0)..<64 {
                group.addTask { key.publicKey.isValid(try key.signature(of: [number]), of: [number]) }
            }
            return try await group.reduce(true) { $0 && $1 }
        }
        #expect(isGood)
    }

    @Test(arguments: [
        "", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", TestKeys.encrypted, TestKeys.p384,
        TestKeys.short,
    ])
    func whatIsNoKeyOfOursSignsNothing(_ pem: String) {
        #expect(throws: CryptographyError.badKey) { try PrivateKey(pem: pem) }
    }

    @Test func numbersThatAreNoKeyAreRefused() {
        func isRefused(_ modulus: [UInt8], _ exponent: [UInt8]) -> Bool {
            (try? PublicKey(modulus: modulus, exponent: exponent)) == nil
        }
        let modulus = [UInt8](repeating: 0xFF, count: 256)
        #expect(!isRefused(modulus, [1, 0, 1]) && !isRefused([0] + modulus, [0, 1, 0, 1]) && !isRefused(modulus, [3]))
        #expect(isRefused([], [1, 0, 1]) && isRefused([0x7F] + modulus.dropFirst(), [1, 0, 1]))
        #expect(isRefused([UInt8](repeating: 0xFF, count: 1025), [1, 0, 1]))
        #expect(isRefused(modulus, []) && isRefused(modulus, [0]) && isRefused(modulus, [1]))
        #expect(isRefused(modulus, [2]) && isRefused(modulus, [1, 0, 0, 0, 1]))
        let one = [UInt8](repeating: 1, count: 32)
        #expect(throws: CryptographyError.badKey) { try PublicKey(x: one, y: one) }
        #expect(throws: CryptographyError.badKey) { try PublicKey(x: [], y: []) }
    }
}
