import CloudService
import Foundation
import Logging
import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// The proxy for network access from the sandbox, over its socket.
@Suite struct CodeProxyTests {
    /// Requests each destination from the proxy at a path, and a page from the server behind it.
    private static let client = """
        import socket, sys
        for target in sys.argv[2:]:
            with socket.socket(socket.AF_UNIX) as proxy:
                proxy.settimeout(60)
                proxy.connect(sys.argv[1])
                line = target if " " in target else f"CONNECT {target} HTTP/1.1"
                proxy.sendall(f"{line}\\r\\nHost: x\\r\\n\\r\\n".encode())
                head = b""
                while b"\\r\\n\\r\\n" not in head:
                    head += proxy.recv(1)
                status = head.split()[1].decode()
                if status == "200":
                    proxy.sendall(b"GET /page HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
                    status += " " + proxy.makefile("rb").read().split()[1].decode()
                print(status)
        """

    @Test func onlyWhatIsNamedIsReached() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "proxy-\(Names.random(8))").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Peer.with("webhook.py") { peer in
            let names = ["127.0.0.1:\(peer.port)", "localhost:\(peer.port)", "localhost:1", "nowhere.invalid"]
            let allowed = try #require(AllowedHosts(names))
            let proxy = CodeProxy(allowed: allowed, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await proxy.start(path: path)
            let said = try await Command.run(
                [
                    "/usr/bin/env", "python3", "-c", Self.client, path, "127.0.0.1:\(peer.port)",
                    "localhost:\(peer.port)",
                    "127.0.0.1:1", "localhost:1", "[::1]:\(peer.port)", "example.com:443", "nowhere.invalid:443",
                    "GET http://127.0.0.1:\(peer.port)/ HTTP/1.1",
                ])
            // An allowed name may resolve to a private address only if that address is allowed too.
            #expect(
                said.split(separator: "\n") == ["200 200", "200 200", "403", "403", "403", "403", "502", "400"])
            #expect(peer.reports().count == 2)
        }
    }

    private struct Broken: Error {}

    /// After its listener ends, with or without an error, the proxy listens again on the same socket, which is the one
    /// that sandboxes have.
    @Test(arguments: [true, false]) func itListensAgain(_ isError: Bool) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "proxy-\(Names.random(8))").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let listeners = Mutex<[CodeProxy.Break]>([])
        let proxy = CodeProxy(
            allowed: try #require(AllowedHosts(["nowhere.invalid"])),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            listening: { broken in listeners.withLock { $0.append(broken) } })
        try await proxy.start(path: path)
        let file = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        for count in 1...2 {
            listeners.withLock { $0.last }?(isError ? Broken() : nil)
            try await eventually("the proxy listens again") { listeners.withLock { $0.count } > count }
            let said = try await Command.run(["/usr/bin/env", "python3", "-c", Self.client, path, "other.invalid:443"])
            #expect(said.split(separator: "\n") == ["403"])
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int == file)
    }
}
