import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The service `web`, which has the pages, is away, comes back or is replaced.
@Suite(.serialized) struct WebServiceTests {
    private static func get(
        _ path: String, of suite: Suite, gateway: Int? = nil, _ headers: [(String, String)] = []
    ) async throws -> ParseClient.Answer {
        var client = ParseClient(suite)
        client.url = (gateway.map { suite.url(ofGateway: $0) } ?? suite.url).replacing("/parse", with: "")
        return try await client.send(.GET, path, headers: headers)
    }

    /// Starts or stops the only process of `web`, which the process manager would restart.
    private static func web(_ command: String, of suite: Suite) async throws {
        let program = #"supervisorctl -c "$SATCHEL_DATA/supervisord.conf" "$0" web-1"#
        _ = try await suite.command(["bash", "-c", program, command])
        try await eventually("/health knows it", within: .seconds(20)) {
            let health = try await ParseClient(suite).get("/health").json
            return health.at("services", "web", "status")?.stringValue == (command == "stop" ? "missing" : "ok")
        }
    }

    @Test(.timeLimit(.minutes(5))) func withoutItTheAPIWorksAndPagesAreUnavailable() async throws {
        try await Suite.with { suite in
            let customer = try await Customer.signUp(suite)
            let link = try await MailedLink.newest("verify_email", to: customer.email, in: suite)
            // No page was requested before, so the gateway has no files.
            try await Self.web("stop", of: suite)
            for path in ["/dashboard", "/dashboard/orders", "/developers", "/dashboard/assets/x/shared/api.js", "/"] {
                let answer = try await Self.get(path, of: suite, [("Accept", "text/html")])
                try Self.expectUnavailable(answer, path)
            }
            try Self.expectUnavailable(try await link.open(), link.path)
            // Clients that probe the address for JSON get the same JSON as before.
            #expect(try await Self.get("/", of: suite, [("Accept", "application/json")]).code == 108)

            #expect(try await ParseClient(suite).get("/health")["status"] == "degraded")
            #expect(try await customer.client.get("/users/me")["emailVerified"] == false)
            #expect(try await customer.client.create("Note", ["a": 1]).status == 201)

            try await Self.web("start", of: suite)
            // The link was not used up.
            #expect(try await link.open().text.contains("is verified"))
            #expect(try await customer.client.get("/users/me")["emailVerified"] == true)
            let page = try await Self.get("/dashboard", of: suite)
            #expect(page.status == 200)

            // From now on the gateway has the files.
            try await Self.web("stop", of: suite)
            #expect(try await Self.get("/dashboard", of: suite).body == page.body)
            #expect(try await Self.get("/dashboard/orders", of: suite).body == page.body)
            #expect(try await Self.get("/developers", of: suite).status == 200)
            try Self.expectUnavailable(try await link.open(), link.path)
        }
    }

    private static func expectUnavailable(_ answer: ParseClient.Answer, _ path: String) throws {
        #expect(answer.status == 503, "\(path): \(answer.text.prefix(100))")
        #expect(answer.headers.first(name: "Content-Type") == "text/html; charset=utf-8", "\(path)")
        #expect(answer.headers.first(name: "Cache-Control") == "no-store", "\(path)")
        #expect(answer.headers.first(name: "Referrer-Policy") == "no-referrer", "\(path)")
        #expect(answer.headers.first(name: "Retry-After") != nil, "\(path)")
        #expect(answer.text.contains("not available at the moment"), "\(path)")
    }

    /// Each replica serves: neither pages nor mailed links notice that one is killed.
    @Test(.timeLimit(.minutes(5))) func ofTwoReplicasEachServes() async throws {
        try await Suite.with(scale: "web=2") { suite in
            try await suite.untilHealthy(replicas: ["web": 2])
            let page = try await Self.get("/dashboard", of: suite)
            #expect(page.status == 200)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for replica in ["web-1", "web-2"] {
                        try await suite.kill(replica)
                        try await suite.untilHealthy(replicas: ["web": 2])
                    }
                }
                for _ in 0..<2 {
                    group.addTask {
                        while !Task.isCancelled {
                            let kept = try await Self.get("/dashboard", of: suite)
                            #expect(kept.body == page.body, "\(kept.status)")
                            let rendered = try await ParseClient(suite).send(.GET, "/apps/choose_password?token=no")
                            #expect(rendered.status == 404 && rendered.text.contains("cannot be used"))
                        }
                    }
                }
                try await group.next()
                group.cancelAll()
            }
            for _ in 0..<20 {
                _ = try await ParseClient(suite).send(.GET, "/apps/choose_password?token=no")
            }
            let sent = try await ParseClient.master(suite).get("/serverInfo").json
            for replica in ["web-1", "web-2"] {
                #expect(sent.at("replicas", .member(replica))?.intValue ?? 0 > 0, "\(replica)")
            }
        }
    }

    /// Each gateway gets the files of the new build, which have other paths.
    @Test(.timeLimit(.minutes(5))) func theFilesOfANewBuildReplaceTheOldOnes() async throws {
        let binaries = FileManager.default.temporaryDirectory.appending(path: "satchel-bin-\(Names.random(8))").path
        let resources = "satchel_WebService.resources"
        try FileManager.default.createDirectory(atPath: binaries, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: binaries) }
        let build = "\(checkoutDirectory)/.build/release"
        for name in try FileManager.default.contentsOfDirectory(atPath: build) {
            // An executable finds its files beside itself, and not beside the link to it.
            if ["satchel", "web", resources].contains(name) {
                try FileManager.default.copyItem(atPath: "\(build)/\(name)", toPath: "\(binaries)/\(name)")
            } else {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(binaries)/\(name)", withDestinationPath: "\(build)/\(name)")
            }
        }
        try await Suite.with(scale: "gateway=2", settings: ["SATCHEL_BIN": binaries]) { suite in
            let before = try await Self.pageAndScript(suite, gateway: 1)
            #expect(try await Self.pageAndScript(suite, gateway: 2) == before)
            let script = "\(binaries)/\(resources)/Site/dashboard/app.js"
            let text = try String(contentsOfFile: script, encoding: .utf8)
            try (text + "// new\n").write(toFile: script, atomically: true, encoding: .utf8)
            _ = try await suite.script("restart", "web")
            for gateway in [1, 2] {
                let after = try await Self.pageAndScript(suite, gateway: gateway)
                #expect(after.tag != before.tag)
                #expect(after.script != before.script)
                let new = try await Self.get(after.script, of: suite, gateway: gateway)
                #expect(new.text.hasSuffix("// new\n"))
                let old = try await Self.get(before.script, of: suite, gateway: gateway)
                #expect(old.status == 404)
                #expect(old.headers.first(name: "Cache-Control") == "no-store")
            }
        }
    }

    private struct Page: Equatable {
        let tag: String
        let script: String
    }

    private static func pageAndScript(_ suite: Suite, gateway: Int) async throws -> Page {
        let page = try await get("/dashboard", of: suite, gateway: gateway)
        let script = page.text.firstMatch(of: #/src="(\/dashboard\/assets\/[^"]*\/app\.js)"/#)
        return Page(
            tag: try #require(page.headers.first(name: "ETag")), script: String(try #require(script).output.1))
    }
}
