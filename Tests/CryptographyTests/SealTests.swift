import Cryptography
import Testing

/// Encryption, and keys derived from passwords.
@Suite struct SealTests {
    private let key = SymmetricKey(data: [UInt8](repeating: 9, count: 32))
    private let context = Array("context".utf8)

    /// Test case 16 of the GCM specification: opens a box made by another implementation.
    @Test func aPublishedBoxOpens() throws {
        let key = SymmetricKey(
            data: bytes(hex: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let text = """
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f6\
            1e6393ba7a0abcc9f662
            """
        let box = try AES.GCM.SealedBox(
            combined: bytes(hex: "cafebabefacedbaddecaf888" + text + "76fc6ece0f4e1768cddf8853bb2d551b"))
        let context = bytes(hex: "feedfacedeadbeeffeedfacedeadbeefabaddad2")
        #expect(
            hex(try AES.GCM.open(box, using: key, authenticating: context)) == """
                d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525\
                b16aedf5aa0de657ba637b39
                """)
    }

    @Test(arguments: [0, 1, 15, 16, 17, 10_000])
    func whatIsSealedOpens(_ count: Int) throws {
        let plain = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let box = try AES.GCM.seal(plain, using: key, authenticating: context)
        #expect(box.combined.count == count + 28)
        #expect(try AES.GCM.open(box, using: key, authenticating: context) == plain)
        let again = try AES.GCM.seal(plain, using: key, authenticating: context)
        #expect(again.combined != box.combined, "Each time another nonce.")
    }

    @Test func whatWasChangedDoesNotOpen() throws {
        let box = try AES.GCM.seal([1, 2, 3], using: key, authenticating: context)
        for index in box.combined.indices {
            var combined = box.combined
            combined[index] ^= 0x80
            let changed = try AES.GCM.SealedBox(combined: combined)
            #expect(throws: CryptographyError.notAuthentic) {
                try AES.GCM.open(changed, using: key, authenticating: context)
            }
        }
        #expect(throws: CryptographyError.notAuthentic) {
            try AES.GCM.open(box, using: key, authenticating: Array("contexT".utf8))
        }
        let other = SymmetricKey(data: [UInt8](repeating: 8, count: 32))
        #expect(throws: CryptographyError.notAuthentic) {
            try AES.GCM.open(box, using: other, authenticating: context)
        }
        #expect(throws: CryptographyError.notAuthentic) {
            try AES.GCM.SealedBox(combined: Array(box.combined.prefix(27)))
        }
    }

    @Test(arguments: [0, 16, 24, 31, 33])
    func aKeyOfAnotherLengthSealsNothing(_ count: Int) {
        let key = SymmetricKey(data: [UInt8](repeating: 1, count: count))
        #expect(throws: CryptographyError.badKey) { try AES.GCM.seal([1], using: key, authenticating: context) }
    }

    /// RFC 7914, section 12: the second and the third vector.
    @Test(arguments: [
        (
            "password", "NaCl", 1024, 16,
            """
            fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727\
            afb94a83ee6d8360cbdfa2cc0640
            """
        ),
        (
            "pleaseletmein", "SodiumChloride", 16_384, 1,
            """
            7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e\
            85dc0d651e40dfcf017b45575887
            """
        ),
    ])
    func keysFromPasswordsAreThePublishedOnes(
        _ password: String, _ salt: String, _ rounds: Int, _ parallelism: Int, _ published: String
    ) throws {
        let key = try KDF.Scrypt.deriveKey(
            from: Array(password.utf8), salt: Array(salt.utf8), outputByteCount: 64, rounds: rounds, blockSize: 8,
            parallelism: parallelism)
        #expect(key.withUnsafeBytes { hex($0) } == published)
    }

    @Test(arguments: [(0, 8, 1), (1, 8, 1), (3, 8, 1), (-2, 8, 1), (16, 0, 1), (16, 8, 0), (1 << 40, 8, 1)])
    func numbersThatScryptDoesNotTakeAreRefused(_ rounds: Int, _ blockSize: Int, _ parallelism: Int) {
        #expect(throws: CryptographyError.badParameter) {
            try KDF.Scrypt.deriveKey(
                from: [1], salt: [1, 2, 3], outputByteCount: 32, rounds: rounds, blockSize: blockSize,
                parallelism: parallelism)
        }
    }
}
