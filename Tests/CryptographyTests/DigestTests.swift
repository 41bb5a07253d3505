import Cryptography
import Testing

func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func bytes(hex text: String) -> [UInt8] {
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
        UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
    }
}

/// Digests, keyed digests and derived keys against the values published in their standards.
@Suite struct DigestTests {
    /// FIPS 180-4's examples; RFC 1321 for MD5.
    @Test func digestsAreThePublishedOnes() {
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        #expect(
            hex(SHA256.hash(data: "abc".utf8)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hex(SHA256.hash(data: long.utf8)) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
        #expect(hex(SHA256.hash(data: [UInt8]())) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(hex(Insecure.SHA1.hash(data: "abc".utf8)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(hex(Insecure.MD5.hash(data: "message digest".utf8)) == "f96b697d7cb7938d525a2f31aaf161d0")
    }

    @Test func piecesMakeTheDigestOfTheWhole() {
        var function = SHA256()
        for _ in 0..<1000 { function.update(data: [UInt8](repeating: UInt8(ascii: "a"), count: 1000)) }
        let copy = function
        function.update(data: [UInt8]())
        #expect(hex(function.finalize()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        function.update(data: [0])
        #expect(function.finalize() != copy.finalize(), "A copy goes on by itself.")
    }

    /// RFC 4231, test cases 1 to 4, 6 and 7.
    static let published: [([UInt8], [UInt8], String)] = [
        (
            .init(repeating: 0x0B, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            .init(repeating: 0xAA, count: 20), .init(repeating: 0xDD, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            Array(1...25), .init(repeating: 0xCD, count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            .init(repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            .init(repeating: 0xAA, count: 131),
            Array(
                """
                This is a test using a larger than block-size key and a larger than block-size data. \
                The key needs to be hashed before being used by the HMAC algorithm.
                """.utf8),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test(arguments: published)
    func keyedDigestsAreThePublishedOnes(_ key: [UInt8], _ data: [UInt8], _ code: String) {
        let key = SymmetricKey(data: key)
        #expect(hex(HMAC<SHA256>.authenticationCode(for: data, using: key)) == code)
        var pieces = HMAC<SHA256>(key: key)
        for byte in data { pieces.update(data: [byte]) }
        #expect(hex(pieces.finalize()) == code)
        let right = bytes(hex: code)
        #expect(HMAC<SHA256>.isValidAuthenticationCode(right, authenticating: data, using: key))
        #expect(!HMAC<SHA256>.isValidAuthenticationCode(right.dropLast(), authenticating: data, using: key))
        #expect(!HMAC<SHA256>.isValidAuthenticationCode([UInt8](), authenticating: data, using: key))
        for index in right.indices {
            var wrong = right
            wrong[index] ^= 1
            #expect(!HMAC<SHA256>.isValidAuthenticationCode(wrong, authenticating: data, using: key))
        }
    }

    /// RFC 2202, test case 2.
    @Test func theKeyedDigestOfOldProtocolsIsThePublishedOne() {
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: "what do ya want for nothing?".utf8, using: SymmetricKey(data: "Jefe".utf8))
        #expect(hex(code) == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
    }

    /// RFC 5869, A.3: no salt, no info.
    @Test func derivedKeysAreThePublishedOnes() {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: [UInt8](repeating: 0x0B, count: 22)), info: [UInt8](),
            outputByteCount: 42)
        #expect(
            key.withUnsafeBytes { hex($0) }
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
    }

    @Test func keysAreEqualByTheirBytes() {
        #expect(SymmetricKey(data: [1, 2, 3]) == SymmetricKey(data: [1, 2, 3]))
        #expect(SymmetricKey(data: [1, 2, 3]) != SymmetricKey(data: [1, 2, 4]))
        #expect(SymmetricKey(data: [1, 2, 3]) != SymmetricKey(data: [1, 2]))
        #expect(SymmetricKey(data: [UInt8]()) == SymmetricKey(data: [UInt8]()))
    }
}
