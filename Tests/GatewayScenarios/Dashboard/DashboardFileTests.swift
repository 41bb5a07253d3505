import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The files of the dashboard and of the page for app developers, as browsers and caches get them.
@Suite struct DashboardFileTests {
    private static func client(_ suite: Suite) -> ParseClient {
        var client = ParseClient(suite)
        client.url = suite.origin
        return client
    }

    private static func get(_ path: String, _ headers: [(String, String)] = []) async throws -> ParseClient.Answer {
        try await client(Suite.shared).send(.GET, path, headers: headers)
    }

    /// The paths of files that a page references.
    private static func assets(of page: String) -> [String] {
        page.matches(of: #/"(/[a-z]+/assets/[^"]+)"/#).map { String($0.1) }
    }

    /// The paths of modules that a module imports.
    private static func imports(of module: String, at path: String) -> [String] {
        let base = URL(string: "http://127.0.0.1\(path)")
        return module.matches(of: #/(?:from|import)\s*\(?'(\.[^']+)'/#).compactMap {
            URL(string: String($0.1), relativeTo: base)?.absoluteURL.path
        }
    }

    @Test(arguments: ["/dashboard", "/developers"])
    func thePageIsAskedForEachTimeAndHasAStrictPolicy(_ path: String) async throws {
        let page = try await Self.get(path)
        #expect(page.status == 200)
        #expect(page.headers.first(name: "Content-Type") == "text/html; charset=utf-8")
        #expect(page.headers.first(name: "Cache-Control") == "no-cache")
        #expect(page.headers.first(name: "X-Content-Type-Options") == "nosniff")
        #expect(page.headers.first(name: "Referrer-Policy") == "no-referrer")
        #expect(page.headers.first(name: "Cross-Origin-Opener-Policy") == "same-origin")
        #expect(page.headers.first(name: "X-Frame-Options") == "DENY")
        #expect(page.headers.first(name: "Set-Cookie") == nil)
        let policy = try #require(page.headers.first(name: "Content-Security-Policy"))
        for rule in [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'",
            "form-action 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        ] {
            #expect(policy.components(separatedBy: "; ").contains(rule), "\(rule) in \(policy)")
        }
        for word in ["unsafe", "data:", "*"] { #expect(!policy.contains(word), "\(policy)") }
        let tag = try #require(page.headers.first(name: "ETag"))
        let known = try await Self.get(path, [("If-None-Match", tag)])
        #expect(known.status == 304)
        #expect(known.body.isEmpty)
        let head = try await Self.client(Suite.shared).send(.HEAD, path)
        #expect(head.status == 200)
        #expect(head.body.isEmpty)
        #expect(head.headers.first(name: "ETag") == tag)
        // The page never contains the master key.
        #expect(!page.text.contains(Suite.masterKey))
    }

    @Test(arguments: [
        "/dashboard/", "/dashboard/orders", "/dashboard/orders/x1", "/dashboard/a%2Fb/c", "/developers/",
        "/developers/routes/findObjects", "/developers/functions/addToBag", "/developers/components",
    ])
    func everyViewIsTheSamePage(_ path: String) async throws {
        let page = try await Self.get("/" + (path.split(separator: "/").first ?? ""))
        #expect(try await Self.get(path).body == page.body)
    }

    @Test(arguments: [
        "/dashboard/nothing.js", "/dashboard/assets", "/dashboard/assets/0123456789abcdef/shared/api.js",
        "/dashboard/index.mustache", "/dashboard/..%2f..%2fmaster.key", "/dashboards", "/developers/assets",
        "/developers/index.mustache", "/developer", "/shared/start.css", "/components", "/components/v1",
        "/components/v1/nothing.js", "/components/v2/satchel-image.js",
    ])
    func whatIsNotThereIsNotThere(_ path: String) async throws {
        let answer = try await Self.get(path)
        #expect(answer.status == 404, "\(answer.text.prefix(100))")
        #expect(answer.code == 108)
        #expect(answer.headers.first(name: "Cache-Control")?.contains("immutable") != true)
    }

    /// Follows every reference from the page through its modules and styles.
    @Test(arguments: [(page: "/dashboard", files: 40), (page: "/developers", files: 20)])
    func everyFileIsThereForEver(_ wanted: (page: String, files: Int)) async throws {
        var waiting = Self.assets(of: try await Self.get(wanted.page).text)
        #expect(waiting.allSatisfy { $0.hasPrefix("\(wanted.page)/assets/") }, "\(waiting)")
        let start = try #require(waiting.first { $0.hasSuffix("app.js") })
        for language in ["en", "de"] {
            waiting.append(start.replacing("app.js", with: "texts/\(language).json"))
        }
        var seen: Set<String> = []
        while let path = waiting.popLast() {
            guard seen.insert(path).inserted else { continue }
            let file = try await Self.get(path)
            #expect(file.status == 200, "\(path)")
            #expect(file.headers.first(name: "Cache-Control") == "public, max-age=31536000, immutable", "\(path)")
            #expect(file.headers.first(name: "X-Content-Type-Options") == "nosniff", "\(path)")
            if path.hasSuffix(".js") {
                #expect(file.headers.first(name: "Content-Type") == "text/javascript; charset=utf-8")
                waiting += Self.imports(of: file.text, at: path)
            }
        }
        #expect(seen.count >= wanted.files, "\(seen)")
        #expect(seen.contains { $0.contains("/pages/") } && seen.contains { $0.contains("/elements/") }, "\(seen)")
    }

    /// Pages of any site load them, with and without an `Origin`.
    @Test(arguments: [nil, "https://other.example"])
    func elementsAreForPagesOfAnySite(_ origin: String?) async throws {
        let headers = origin.map { [("Origin", $0)] } ?? []
        var waiting = ["query-table", "product-table", "image", "download", "log-in", "sign-up"].map {
            "/components/v1/satchel-\($0).js"
        }
        var seen: Set<String> = []
        while let path = waiting.popLast() {
            guard seen.insert(path).inserted else { continue }
            #expect(path.hasPrefix("/components/v1/"), "\(path)")
            let file = try await Self.get(path, headers)
            #expect(file.status == 200, "\(path)")
            #expect(file.headers.first(name: "Content-Type") == "text/javascript; charset=utf-8")
            #expect(file.headers.first(name: "Access-Control-Allow-Origin") == "*")
            #expect(file.headers.first(name: "Cross-Origin-Resource-Policy") == "cross-origin")
            #expect(file.headers.first(name: "Cache-Control") == "public, max-age=86400")
            let tag = try #require(file.headers.first(name: "ETag"))
            #expect(try await Self.get(path, headers + [("If-None-Match", tag)]).status == 304)
            waiting += Self.imports(of: file.text, at: path)
        }
        #expect(seen.count >= 15, "\(seen)")
    }

    @Test func filesComeCompressedToWhoAsksForThat() async throws {
        let page = try await Self.get("/dashboard").text
        let path = try #require(Self.assets(of: page).first { $0.hasSuffix("style.css") })
        let plain = try await Self.get(path)
        #expect(plain.headers.first(name: "Content-Encoding") == nil)
        #expect(plain.text.contains("--paper"))
        #expect(plain.headers.first(name: "Vary")?.contains("Accept-Encoding") == true)
        for accepted in ["gzip", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8", "GZIP"] {
            let small = try await Self.get(path, [("Accept-Encoding", accepted)])
            #expect(small.headers.first(name: "Content-Encoding") == "gzip", "\(accepted)")
            #expect(small.body.starts(with: [0x1f, 0x8b]))
            #expect(small.body.count < plain.body.count / 2)
            let tag = try #require(small.headers.first(name: "ETag"))
            #expect(tag != plain.headers.first(name: "ETag"))
            let known = try await Self.get(path, [("Accept-Encoding", accepted), ("If-None-Match", tag)])
            #expect(known.status == 304)
        }
        for refused in ["gzip;q=0", "gzip; q=0.0, identity", "br", "identity"] {
            let answer = try await Self.get(path, [("Accept-Encoding", refused)])
            #expect(answer.body == plain.body, "\(refused)")
        }
    }

    /// A browser's request is answered on its connection's event loop. A request with a query string takes the general
    /// path.
    @Test(arguments: ["identity", "gzip, deflate, br"])
    func aFileIsTheSameOnBothWays(_ encoding: String) async throws {
        func told(_ answer: ParseClient.Answer) -> [String] {
            let own: Set<String> = ["date", "x-satchel-request-id"]
            return answer.headers.map { ($0.name.lowercased(), $0.value) }
                .filter { !own.contains($0.0) }.map { "\($0.0): \($0.1)" }.sorted()
        }
        let page = try await Self.get("/dashboard", [("Accept-Encoding", encoding)])
        let otherPage = try await Self.get("/dashboard?x", [("Accept-Encoding", encoding)])
        #expect(page.body == otherPage.body)
        #expect(told(page) == told(otherPage))
        let style = try #require(
            Self.assets(of: try await Self.get("/dashboard").text).first { $0.hasSuffix("style.css") })
        let file = try await Self.get(style, [("Accept-Encoding", encoding)])
        let otherFile = try await Self.get("\(style)?x", [("Accept-Encoding", encoding)])
        #expect(file.status == 200)
        #expect(file.body == otherFile.body)
        #expect(told(file) == told(otherFile))
        #expect(file.headers.first(name: "Date") != nil && file.headers.first(name: "X-Satchel-Request-Id") != nil)
        let tag = try #require(file.headers.first(name: "ETag"))
        let known = try await Self.get(style, [("Accept-Encoding", encoding), ("If-None-Match", "\"no\", \(tag)")])
        #expect(known.status == 304)
        #expect(known.body.isEmpty)
        #expect(known.headers.first(name: "ETag") == tag)
        #expect(known.headers.first(name: "Cache-Control") == "public, max-age=31536000, immutable")
        #expect(known.headers.first(name: "Content-Encoding") == nil)
    }

    @Test func theAddressAloneIsTheShopForPeopleAndNoRouteForPrograms() async throws {
        // A browser, a link preview or curl, and a client without the header.
        for headers in [[("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")], [("Accept", "*/*")], []] {
            for path in ["/", "/?utm_source=mail"] {
                let page = try await Self.get(path, headers)
                #expect(page.status == 200)
                #expect(page.text.contains(#"href="/bag""#), "\(headers): \(page.text.prefix(300))")
                #expect(page.headers.first(name: "Content-Security-Policy")?.contains("default-src 'none'") == true)
            }
            for path in ["/bag", "/search", "/stores", "/pages", "/log-in", "/sign-up", "/offline"] {
                let page = try await Self.get(path, headers)
                #expect(page.status == 200, "\(path)")
                #expect(page.headers.first(name: "Content-Type") == "text/html; charset=utf-8", "\(path)")
            }
            #expect(try await Self.get("/parse", headers).code == 108)
        }
        let answer = try await Self.get("/", [("Accept", "application/json")])
        #expect(answer.status == 404)
        #expect(answer.code == 108)
        let posted = try await Self.client(Suite.shared).send(.POST, "/dashboard", body: Array("{}".utf8))
        #expect(posted.code == 108)
    }

    /// The pages contain only the JavaScript key; other client keys are not public.
    @Test func thePageKnowsTheKeyOfPagesAlone() async throws {
        let settings = [
            "SATCHEL_JAVASCRIPT_KEY": "for-pages-1", "SATCHEL_REST_KEY": "for-servers-1",
            "SATCHEL_SHOP_NAME": #"Tom & "Anna" <script>"#,
        ]
        try await Suite.with(settings: settings) { suite in
            for path in ["/dashboard", "/developers"] {
                let page = try await Self.client(suite).send(.GET, path)
                #expect(page.text.contains(#"content="for-pages-1""#), "\(path)")
                #expect(!page.text.contains("for-servers-1"), "\(path)")
                #expect(!page.text.contains("<script>"), "\(path)")
                // The developer page lists the kinds of keys, so that its snippets have a place for the key.
                #expect(page.text.contains(#"content="rest javascript""#) == (path == "/developers"))
            }
        }
    }

    /// Browsers log a refused connection as an error, so the page must know beforehand.
    @Test(arguments: [
        (setting: ["SATCHEL_LIVE": "false"], isThere: false),
        (setting: ["SATCHEL_ALLOW_ORIGINS": "https://shop.example"], isThere: false),
        (setting: [:], isThere: true),
    ])
    func thePageKnowsWhetherItHearsOfChanges(_ wanted: (setting: [String: String], isThere: Bool)) async throws {
        try await Suite.with(settings: wanted.setting) { suite in
            let page = try await Self.client(suite).send(.GET, "/dashboard").text
            #expect(page.contains(#"<meta name="satchel-live" content="true">"#) == wanted.isThere)
            #expect(page.contains(#"<meta name="satchel-live" content="">"#) == !wanted.isThere)
        }
    }

    @Test func anOperatorMayDoWithoutIt() async throws {
        try await Suite.with(settings: ["SATCHEL_DASHBOARD": "false", "SATCHEL_STOREFRONT": "false"]) { suite in
            for path in ["/dashboard", "/dashboard/orders", "/developers", "/developers/routes", "/"] {
                let answer = try await Self.client(suite).send(.GET, path, headers: [("Accept", "text/html")])
                #expect(answer.status == 404, "\(path)")
                #expect(answer.code == 108, "\(path)")
            }
            #expect(try await ParseClient(suite).get("/openapi.json").status == 200)
        }
    }

    // MARK: - The sources

    private static let folder = checkoutDirectory + "/Services/Web/Site"

    private static func sources() -> [(path: String, text: String)] {
        (FileManager.default.subpaths(atPath: folder) ?? []).filter { $0.hasSuffix(".js") }.map { path in
            (path, String(decoding: FileManager.default.contents(atPath: "\(folder)/\(path)") ?? Data(), as: UTF8.self))
        }
    }

    @Test func noModuleIsLongOrMakesMarkupOfTexts() {
        let sources = Self.sources()
        #expect(sources.count >= 20)
        for (path, text) in sources {
            #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 201, "\(path)")
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                #expect(!text.contains(word), "\(path) has \(word)")
            }
        }
    }

    /// All languages have the same texts, and every key that a module uses exists. The texts of shared code are in the
    /// dashboard, which uses all of them.
    @Test(arguments: ["dashboard", "developers"])
    func everyTextIsThereInEveryLanguage(_ page: String) throws {
        let keys = try ["en", "de"].map { language in
            let bytes = FileManager.default.contents(atPath: "\(Self.folder)/\(page)/texts/\(language).json")
            return Set(try JSON(parsing: Array(bytes ?? Data())).objectValue.map { Array($0.keys) } ?? [])
        }
        // English and German have the same plural forms; other languages may differ.
        #expect(keys[0].symmetricDifference(keys[1]) == [])
        #expect(!keys[0].isEmpty)
        let folders = page == "dashboard" ? ["dashboard/", "shared/"] : ["\(page)/"]
        for (path, text) in Self.sources() where folders.contains(where: path.hasPrefix) {
            for match in text.matches(of: #/[^a-zA-Z]t\('([A-Za-z.]+)'/#) {
                let key = String(match.1)
                #expect(keys[0].contains(key) || keys[0].contains("\(key).other"), "\(path): \(key)")
            }
        }
    }
}
