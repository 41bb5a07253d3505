import Foundation
import ObjectStore
import ParseProtocol
import ProcessKit
import Testing
import UsersService

/// T1c: the account key, its derived values, and its file.
@Suite struct UsersSecretTests {
    private let other = AccountKey(Array(repeating: 7, count: AccountKey.bytes))

    @Test func aHashDependsOnTextKeyAndPurpose() {
        let hash = testAccountKey.digest("r:0", for: .sessionToken)
        #expect(hash.count == 64)
        #expect(hash == testAccountKey.digest("r:0", for: .sessionToken))
        #expect(hash != testAccountKey.digest("r:1", for: .sessionToken))
        #expect(hash != testAccountKey.digest("r:0", for: .anonymousId))
        #expect(hash != other.digest("r:0", for: .sessionToken))
    }

    @Test func whatIsSealedOpensForItsOwnerAndPurposeOnly() throws {
        let plain = Array("0b4a".utf8)
        let sealed = try testAccountKey.seal(plain, for: .anonymousId, of: "u1")
        #expect(sealed != plain)
        #expect(testAccountKey.open(sealed, for: .anonymousId, of: "u1") == plain)
        #expect(testAccountKey.open(sealed, for: .anonymousId, of: "u2") == nil)
        #expect(testAccountKey.open(sealed, for: .keptReply, of: "u1") == nil)
        #expect(other.open(sealed, for: .anonymousId, of: "u1") == nil)
        var damaged = sealed
        damaged[damaged.count - 1] ^= 1
        #expect(testAccountKey.open(damaged, for: .anonymousId, of: "u1") == nil)
        #expect(testAccountKey.open([], for: .anonymousId, of: "u1") == nil)
        #expect(try testAccountKey.seal(plain, for: .anonymousId, of: "u1") != sealed, "Each time another.")
    }

    /// Stored secrets remain readable: another library's HKDF, HMAC and AES-GCM made these.
    @Test func storedSecretsRemainReadable() {
        #expect(
            other.digest("r:0", for: .sessionToken)
                == "a40141b841a1c6ba1d2991b9013b96f3fe50a24f3154d07c8d9122e9b8531fdb")
        let box: [UInt8] = [
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
            0xDA, 0x73, 0xAA, 0x05, 0x86, 0x11, 0xA6, 0x64, 0x92, 0xF9, 0xF1, 0xFB, 0x21, 0x9B, 0x82, 0xC3,
            0xD4, 0x5B, 0x20, 0x72,
        ]
        #expect(other.open(box, for: .anonymousId, of: "u1") == Array("0b4a".utf8))
    }

    /// When several replicas start together, one creates the key, and all use it.
    @Test func manyStartsMakeOneKey() async throws {
        let path = NSTemporaryDirectory() + "key-\(Names.random(10))/users.key"
        defer { try? FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent) }
        let hashes = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 {
                group.addTask { try AccountKeyFile(path: path).key().digest("x", for: .device) }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(hashes.count == 1)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let files = try FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent)
        #expect(files == ["users.key"], "No drafts are left.")
    }

    @Test(arguments: ["", "0123", "not a key at all, but as long as one would be, in characters......"])
    func aDamagedFileIsNotReplaced(_ text: String) throws {
        let path = NSTemporaryDirectory() + "key-\(Names.random(10))"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: StartupProblem.self) { try AccountKeyFile(path: path).key() }
        #expect(FileManager.default.contents(atPath: path) == Data(text.utf8))
    }

    @Test func aBanIsAnACLWithoutTheOwnRightToRead() {
        func isBanned(_ acl: JSON?, roles: [String] = []) -> Bool {
            var user: JSON = ["objectId": "u1"]
            user["ACL"] = acl
            return Ban.applies(to: user, roles: roles)
        }
        #expect(isBanned([:]))
        #expect(isBanned(["u2": ["read": true]]))
        #expect(isBanned(["u1": ["write": true]]))
        #expect(isBanned(["role:a": ["read": true]], roles: ["b"]))
        #expect(!isBanned(nil))
        #expect(!isBanned(["u1": ["read": true]]))
        #expect(!isBanned(["*": ["read": true]]))
        #expect(!isBanned(["role:a": ["read": true]], roles: ["a"]))
    }
}
