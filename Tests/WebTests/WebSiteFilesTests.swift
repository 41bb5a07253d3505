import Foundation
import Messages
import ParseProtocol
import ProcessKit
import Testing
import WebService

/// The files that the gateway gets from `web`.
@Suite struct WebSiteFilesTests {
    private static let long = String(repeating: "export const a = 1;\n", count: 50)

    /// A site with one script of each size.
    private static func site(
        _ changes: [String: String?] = [:], shopName: String = "Shop", tiles: String = "", texts: String? = nil
    ) throws -> WebSiteFiles {
        let folder = FileManager.default.temporaryDirectory.appending(path: "site-\(Names.random(12))")
        defer { try? FileManager.default.removeItem(at: folder) }
        let page =
            #"<title>{{shop}}</title><meta content="{{live}}|{{keyKinds}}|{{tiles}}"><script src="{{assets}}/a.js">"#
        let standard: [String: String?] = [
            "shared/start.mustache": "{{shop}} {{mount}} {{assets}}", "dashboard/index.mustache": page,
            "developers/index.mustache": page, "shared/long.js": long, "shared/short.js": "1", "README.md": "no page",
        ]
        for case (let path, let text?) in standard.merging(changes, uniquingKeysWith: { $1 }) {
            let url = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        return try WebSiteFiles(
            reading: folder, shopName: shopName, currency: .standard,
            tiles: MapTiles(Settings(["SATCHEL_DASHBOARD_TILES": tiles])), texts: texts)
    }

    private static func reply(_ site: WebSiteFiles) throws -> [String: WebFile] {
        let request = WebSiteRequest.with {
            $0.url = "https://shop.example:8443/parse"
            $0.mount = "/parse"
            $0.keyKinds = ["rest", "javascript"]
            $0.offersLiveQueries = true
        }
        return try site.reply(to: request).files.reduce(into: [:]) { files, file in
            for path in file.paths { files[path] = file }
        }
    }

    private static func policy(of file: WebFile?) -> String {
        file?.headers.first { $0.name == "Content-Security-Policy" }?.value ?? ""
    }

    private static func text(_ file: WebFile?) -> String { String(decoding: file?.content ?? Data(), as: UTF8.self) }

    @Test func everyFileHasAPathForEachPage() throws {
        let files = try Self.reply(Self.site())
        let names = Set(files.keys.map { $0.replacing(#/assets\/[0-9a-f]{16}/#, with: "assets/digest") })
        #expect(
            names == [
                "/", "/dashboard", "/developers", "/dashboard/assets/digest/shared/long.js",
                "/dashboard/assets/digest/shared/short.js", "/developers/assets/digest/shared/long.js",
                "/developers/assets/digest/shared/short.js", "/shop/assets/digest/shared/long.js",
                "/shop/assets/digest/shared/short.js",
            ])
        let long = files.first { $0.key.hasSuffix("long.js") }?.value
        #expect(Self.text(long) == Self.long)
        #expect(long?.gzipped.starts(with: [0x1f, 0x8b]) == true)
        let short = files.first { $0.key.hasSuffix("short.js") }?.value
        #expect(short?.gzipped.isEmpty == true, "Compression saves nothing.")
    }

    /// A worker gets its rights from the response with its file.
    @Test func theWorkerOfTheStorefrontWorksForAllPaths() throws {
        let files = try Self.reply(Self.site(["shop/worker.js": "1"]))
        let worker = files.first { $0.key.hasPrefix("/shop/") && $0.key.hasSuffix("/shop/worker.js") }?.value
        #expect(worker?.headers.first { $0.name == "Service-Worker-Allowed" }?.value == "/")
        #expect(Self.policy(of: worker).contains("connect-src 'self'"))
        let other = files.first { $0.key.hasSuffix("short.js") }?.value
        #expect(other?.headers.contains { $0.name == "Service-Worker-Allowed" } == false)
    }

    @Test func elementsHaveAPathWithTheirVersion() throws {
        let files = try Self.reply(Self.site(["components/satchel-a.js": Self.long]))
        let element = files["/components/v1/satchel-a.js"]
        #expect(Self.text(element) == Self.long)
        func headers(_ file: WebFile?, _ name: String) -> [String] {
            file?.headers.filter { $0.name == name }.map(\.value) ?? []
        }
        #expect(headers(element, "Cross-Origin-Resource-Policy") == ["cross-origin"])
        #expect(headers(element, "Cache-Control") == ["public, max-age=86400"])
        // The pages of the shop use the same file.
        let own = files.first { $0.key.hasPrefix("/shop/assets/") && $0.key.hasSuffix("satchel-a.js") }?.value
        #expect(Self.text(own) == Self.long)
        #expect(headers(own, "Cross-Origin-Resource-Policy") == ["same-origin"])
    }

    /// An operator's folder of languages.
    private static func texts(_ files: [String: String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "texts-\(Names.random(12))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        return folder.path
    }

    @Test func anOperatorAddsLanguagesAndReplacesTexts() throws {
        let own = try Self.texts([
            "fr.json": #"{"action.save":"Enregistrer"}"#, "de.json": #"{"action.save":"Speichern!"}"#, "notes.txt": "-",
        ])
        defer { try? FileManager.default.removeItem(atPath: own) }
        let english = #"{"action.save":"Save","action.close":"Close"}"#
        let files = try Self.reply(
            Self.site(
                [
                    "dashboard/texts/en.json": english, "developers/texts/en.json": english,
                    "dashboard/texts/de.json": #"{"action.save":"Speichern","action.close":"Schließen"}"#,
                    "dashboard/index.mustache": "{{languages}}|{{timeZone}}|{{assets}}",
                    "developers/index.mustache": "{{languages}}",
                ], texts: own))
        let page = Self.text(files["/dashboard"]).split(separator: "|").map(String.init)
        #expect(page.prefix(2) == ["de en fr", "UTC"])
        #expect(Self.text(files["/developers"]) == "en")
        let folder = try #require(page.last)
        func texts(_ language: String) throws -> JSON {
            try JSON(parsing: Self.text(files["\(folder)/dashboard/texts/\(language).json"]))
        }
        #expect(try texts("fr") == ["action.save": "Enregistrer", "action.close": "Close"])
        #expect(try texts("de") == ["action.save": "Speichern!", "action.close": "Schließen"])
        #expect(try texts("en") == ["action.save": "Save", "action.close": "Close"])
    }

    @Test(arguments: [
        ("french.json", "{}"), ("../fr.json", "{}"), ("fr.json", "[]"), ("fr.json", "{"), ("fr.json", #"{"a":1}"#),
    ])
    func aFileThatIsNoLanguageIsRefused(name: String, text: String) throws {
        let own = try Self.texts([name.replacing("/", with: "-"): text])
        defer { try? FileManager.default.removeItem(atPath: own) }
        let error = #expect(throws: StartupProblem.self) { try Self.site(texts: own) }
        #expect(error?.description.contains("SATCHEL_DASHBOARD_TEXTS=\(own)") == true)
        #expect(throws: StartupProblem.self) { try Self.site(texts: "\(own)/nowhere") }
    }

    @Test func valuesOfTheGatewayAndOfSettingsAreFilledInAsText() throws {
        let files = try Self.reply(Self.site(shopName: "<b>Tom & Ann</b>"))
        let page = Self.text(files["/developers"])
        #expect(page.contains("<title>&lt;b&gt;Tom &amp; Ann&lt;/b&gt;</title>"), "\(page)")
        #expect(page.contains(#"content="true|rest javascript|""#), "\(page)")
        let script = page.firstMatch(of: #/src="(\/developers\/assets\/[0-9a-f]{16})\/a\.js"/#)
        #expect(script.map { files["\($0.output.1)/shared/long.js"] != nil } == true, "\(page)")
        #expect(Self.text(files["/"]).contains("/parse /dashboard/assets/"))
    }

    @Test func onlyTheDashboardMayShowTiles() throws {
        let files = try Self.reply(Self.site(tiles: "https://tiles.example.org/{z}/{x}/{y}.png"))
        let own = "img-src 'self' blob: https://shop.example:8443"
        #expect(Self.policy(of: files["/dashboard"]).contains("\(own) https://tiles.example.org;"))
        for path in ["/developers", "/"] { #expect(Self.policy(of: files[path]).contains("\(own);"), "\(path)") }
    }

    /// Browsers keep a file by its path for ever.
    @Test func anotherContentHasOtherPaths() throws {
        func paths(_ site: WebSiteFiles) throws -> Set<String> {
            Set(try Self.reply(site).keys.filter { $0.contains("assets") })
        }
        let first = try paths(Self.site())
        #expect(try paths(Self.site()) == first)
        #expect(try paths(Self.site(["shared/short.js": "2"])).isDisjoint(with: first))
    }

    @Test(arguments: ["shared/start.mustache", "dashboard/index.mustache", "developers/index.mustache"])
    func aMissingOrBrokenPageEndsTheStart(_ page: String) {
        for text in [nil, "{{#open}}"] {
            #expect(throws: StartupProblem.self) { _ = try Self.site([page: text]) }
        }
    }
}
