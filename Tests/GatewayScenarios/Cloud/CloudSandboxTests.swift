import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Cloud code in a sandbox. Skipped where the kernel supports no namespaces.
@Suite struct CloudSandboxTests {
    private static let code = """
        const fs = require('fs');
        const tried = (work) => { try { return work(); } catch (error) { return error.code; } };
        Parse.Cloud.define('hello', () => 'hello');
        Parse.Cloud.define('read', (request) => tried(() => fs.readdirSync(request.params.path).length));
        Parse.Cloud.define('write', (request) => tried(() => fs.writeFileSync(request.params.path, 'x') || 'written'));
        Parse.Cloud.define('processes', () => fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).length);
        Parse.Cloud.define('count', () => new Parse.Query('Thing').count({ useMasterKey: true }));
        Parse.Cloud.define('reach', async (request) => {
          try {
            return (await Parse.Cloud.httpRequest({ url: request.params.url })).status;
          } catch (error) {
            return 'unreachable';
          }
        });
        """

    /// Whether the kernel supports the namespaces that bubblewrap needs.
    /// - Throws: `Command.Failed` without bubblewrap, which `scripts/test` installs.
    private static func hasNamespaces() async throws -> Bool {
        _ = try await Command.run(["/usr/bin/bwrap", "--version"])
        let words = ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        do {
            _ = try await Command.run(["/usr/bin/bwrap"] + words + ["true"])
            return true
        } catch {
            print("Cloud code was not tested in a sandbox: \(error)")
            return false
        }
    }

    @Test(.enabled("The kernel gives bubblewrap no namespaces", hasNamespaces), arguments: ["on", "off"])
    func codeSeesNothingOfTheHostButItsOwn(_ network: String) async throws {
        let suite = try await CloudSuite.start(
            Self.code, settings: ["SATCHEL_CLOUD_SANDBOX": "bubblewrap", "SATCHEL_CLOUD_NETWORK": network])
        let client = ParseClient(suite)
        func call(_ name: String, _ parameters: JSON = [:]) async throws -> JSON {
            try await client.call(.POST, "/functions/\(name)", parameters).result
        }
        for path in [suite.dataDirectory, "/root", "/home", "/var"] {
            #expect(try await call("read", ["path": .string(path)]) == "ENOENT", "\(path)")
        }
        #expect(try await call("write", ["path": "main.js"]) == "EROFS")
        #expect(try await call("write", ["path": "/tmp/x"]) == "written")
        for path in ["/x", "/dev/x", "/dev/shm/x", "/etc/x", "/proc/sys/kernel/hostname"] {
            let refused = try await call("write", ["path": .string(path)])
            #expect(["EROFS", "EACCES"].contains(refused), "\(path): \(refused)")
        }
        // The code's process and its parent, which waits for it.
        #expect(try await call("processes") == 2)
        #expect(try await call("count") == 0, "Requests of the SDK need no network.")
        let reached = try await call("reach", ["url": .string("\(suite.url)/health")])
        #expect(network == "on" ? reached == 200 : reached == "unreachable", "\(reached)")
        await suite.stop()
    }

    @Test(.enabled("The kernel gives bubblewrap no namespaces", hasNamespaces))
    func withAListOfHostsOnlyThoseAreReached() async throws {
        try await Peer.with("webhook.py") { peer in
            let suite = try await CloudSuite.start(
                Self.code + Self.raw,
                settings: [
                    "SATCHEL_CLOUD_SANDBOX": "bubblewrap", "SATCHEL_CLOUD_NETWORK": "127.0.0.1:\(peer.port)",
                ])
            let client = ParseClient(suite)
            for (name, url, reached) in [
                ("reach", "\(peer.url)/one", 200), ("fetched", "\(peer.url)/two", 200),
                ("reach", "\(suite.url)/health", "unreachable"), ("reach", "http://example.com/", "unreachable"),
                ("raw", peer.url, "ERR_CLOUD_NETWORK"),
            ] as [(String, String, JSON)] {
                let answer = try await client.run(name, ["url": .string(url)])
                #expect(answer.result == reached, "\(name) \(url): \(answer.text)")
            }
            #expect(peer.reports().compactMap { $0["name"]?.stringValue } == ["/one", "/two"])
            #expect(try await client.run("count").result == 0, "Requests of the SDK need no network.")
            await suite.stop()
        }
    }

    private static let raw = """

        Parse.Cloud.define('fetched', async (request) => (await fetch(request.params.url)).status);
        Parse.Cloud.define('raw', (request) => new Promise((resolve) => {
          const { hostname, port } = new URL(request.params.url);
          require('net').connect(port, hostname, () => resolve('there')).on('error', (error) => resolve(error.code));
        }));
        """
}
