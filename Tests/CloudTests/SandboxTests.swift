import CloudService
import ProcessKit
import Testing

/// The command that puts code into a sandbox, without running it.
@Suite struct SandboxTests {
    @Test func foldersAreSeenReadOnlyAndAfterTheEmptyOne() throws {
        let words = Sandbox(hasNetwork: true, visible: ["/tmp/runtime", "/srv/code"]).prefix(folder: "/srv/code")
        #expect(words.first == Sandbox.program)
        #expect(words.suffix(3) == ["--chdir", "/srv/code", "--"])
        let empty = try #require(words.firstIndex(of: "/tmp"))
        let runtime = try #require(words.firstIndex(of: "/tmp/runtime"))
        #expect(words[runtime - 1] == "--ro-bind")
        #expect(empty < runtime)
        #expect(!words.contains("--bind"))
        let bound = zip(words, words.dropFirst()).filter { $0.0.hasPrefix("--ro-bind") }.map(\.1)
        #expect(!bound.contains("/"))
    }

    /// The kernel's settings are in /proc, and the root and /dev are unlimited memory file systems.
    @Test func nothingButTmpIsWritable() throws {
        let words = Sandbox(hasNetwork: true, visible: ["/srv/code"]).prefix(folder: "/srv/code")
        let code = try #require(words.lastIndex(of: "--ro-bind"))
        for path in ["/proc", "/dev", "/"] {
            let closed = try #require(words.indices.first { words[$0] == "--remount-ro" && words[$0 + 1] == path })
            #expect(closed > code, "What is mounted needs its place first.")
        }
    }

    @Test func dataThatASandboxShowsIsRefused() {
        let settings = Settings(["SATCHEL_CLOUD_SANDBOX": "bubblewrap"])
        #expect(throws: StartupProblem.self) { try CloudConfiguration(settings, dataDirectory: "/usr/local/shop/data") }
    }

    @Test func withoutNetworkThereIsNone() {
        #expect(Sandbox(hasNetwork: true, visible: []).prefix(folder: "/usr").contains("--share-net"))
        let words = Sandbox(hasNetwork: false, visible: []).prefix(folder: "/usr")
        #expect(words.contains("--unshare-all"))
        #expect(!words.contains("--share-net"))
    }

    @Test func aListOfHostsIsNoNetworkAndASocket() throws {
        let words = Sandbox(hasNetwork: false, proxy: "/data/cloud.proxy", visible: []).prefix(folder: "/usr")
        #expect(!words.contains("--share-net"))
        let socket = try #require(words.firstIndex(of: "/data/cloud.proxy"))
        #expect(words[socket - 1] == "--ro-bind")
        #expect(words[socket + 1] == Sandbox.proxy)
        let closed = try #require(words.indices.last { words[$0] == "--remount-ro" })
        #expect(socket < closed, "What is mounted needs its place first.")
    }

    @Test func aProgramIsFoundByItsName() {
        #expect(Sandbox.file(of: "env", path: "/nowhere:/usr/bin") == "/usr/bin/env")
        #expect(Sandbox.file(of: "/usr/bin/env", path: "") == "/usr/bin/env")
        #expect(Sandbox.file(of: "there-is-none", path: "/usr/bin") == "there-is-none")
    }

    @Test(arguments: ["off", "api.stripe.com"])
    func theNetworkCannotBeOffWithoutASandbox(_ network: String) {
        let settings = Settings(["SATCHEL_CLOUD_NETWORK": network])
        #expect(throws: StartupProblem.self) { try CloudConfiguration(settings, dataDirectory: "/tmp") }
    }

    @Test func withoutASandboxThereIsNone() throws {
        let configuration = try CloudConfiguration(Settings([:]), dataDirectory: "/tmp")
        #expect(!configuration.command.contains(Sandbox.program))
        #expect(configuration.command.contains("node"))
    }
}
