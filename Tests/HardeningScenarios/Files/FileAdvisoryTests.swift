import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Accepted uploads and how they are served: no content of a file runs in the shop's origin.
@Suite struct FileAdvisoryTests {
    @Test("2023-32689: pages of HTML are not taken in")
    func advisory2023_32689_pagesAreNotTakenIn() async throws {
        try await expectRefused([
            ("#.html", "text/html"), ("#.htm", nil), ("#", "text/html"), ("#.HTML", "TEXT/HTML"),
            ("#.hTm", "image/png"),
            ("#.html", "application/octet-stream"), ("#.html", "text/plain"), ("#.png.html", "image/png"),
            ("#.html%20", "text/html"), ("#.ht%6Dl", "text/html"),
        ])
    }

    @Test("2023-32689: a page that says it is something else is served as that, to no browser as a page")
    func advisory2023_32689_whatIsServedNeverRuns() async throws {
        let suite = try await Suite.shared
        let client = try await Customer.signUp(suite).client
        let page = Array("<!doctype html><svg onload=alert(1)><script>alert(document.cookie)</script>".utf8)
        let shown: Set = ["jpg", "png", "gif", "webp", "pdf", "txt"]
        for (kind, type) in [
            ("jpg", "image/jpeg"), ("png", "image/png"), ("gif", "image/gif"), ("webp", "image/webp"),
            ("pdf", "application/pdf"), ("txt", "text/plain; charset=utf-8"), ("csv", "text/csv"),
            ("json", "application/json"), ("zip", "application/zip"), ("mp4", "video/mp4"),
            ("bin", "application/octet-stream"),
        ] {
            let made = try await client.upload(page, as: "page.\(kind)", type: nil)
            #expect(made.status == 201, "\(kind): \(made.text)")
            let path = client.path(of: made.json.text("name"))
            for headers in [[], [("Range", "bytes=0-20")], [("Accept", "text/html")]] as [[(String, String)]] {
                let answer = try await client.download(path, headers)
                #expect(answer.body == page || answer.body == Array(page[...20]))
                #expect(answer.headers["content-type"] == [type], "\(kind)")
                #expect(answer.headers["x-content-type-options"] == ["nosniff"], "\(kind)")
                #expect(answer.headers["content-security-policy"] == ["default-src 'none'; sandbox"], "\(kind)")
                let disposition = answer.headers.first(name: "content-disposition") ?? ""
                #expect(disposition.hasPrefix(shown.contains(kind) ? "inline" : "attachment"), "\(kind)")
            }
            // Neither a query string nor another name changes the content type.
            let asked = try await client.download("\(path)?type=text/html&response-content-type=text/html")
            #expect(asked.headers["content-type"] == [type])
            #expect(try await client.download("\(path).html").status == 404)
        }
    }

    @Test("2026-30948: drawings that hold scripts are not taken in")
    func advisory2026_30948_drawingsAreNotTakenIn() async throws {
        try await expectRefused([
            ("#.svg", "image/svg+xml"), ("#.SVG", nil), ("#", "image/svg+xml"), ("#.svgz", "image/svg+xml"),
            ("#.svg", "image/png"), ("#.png", "image/svg+xml"), ("#.svg", "application/octet-stream"),
            ("#.svg", "image/svg"),
        ])
    }

    @Test("2026-31868: no other type that browsers render is taken in")
    func advisory2026_31868_otherRenderedTypesAreNotTakenIn() async throws {
        try await expectRefused([
            ("#.xhtml", "application/xhtml+xml"), ("#.xht", nil), ("#.xml", "text/xml"), ("#.xml", "application/xml"),
            ("#.xsl", "text/xsl"), ("#.xslt", "application/xslt+xml"), ("#.rss", "application/rss+xml"),
            ("#.atom", "application/atom+xml"), ("#.rdf", "application/rdf+xml"),
            ("#.mathml", "application/mathml+xml"),
            ("#.mht", "message/rfc822"), ("#.mhtml", "multipart/related"), ("#.js", "text/javascript"),
            ("#.mjs", "application/javascript"), ("#.css", "text/css"), ("#.swf", "application/x-shockwave-flash"),
            ("#.hta", "application/hta"), ("#.htc", "text/x-component"), ("#", "application/xml"),
            ("#", "text/javascript"), ("#.wasm", "application/wasm"), ("#.webmanifest", "application/manifest+json"),
        ])
    }

    @Test("2026-32728: neither a parameter of the type nor an extension like XML's is let pass")
    func advisory2026_32728_parametersAreNotLetPass() async throws {
        try await expectRefused([
            ("#.png", "image/png;charset=text/html"), ("#.png", "image/png; x=y"),
            ("#.svg", "image/svg+xml;charset=utf-8"),
            ("#", "image/svg+xml; charset=utf-8"), ("#.txt", "text/plain; charset=utf-7"),
            ("#.txt", "text/plain;charset=utf-8;x=1"), ("#.txt", "text/html;charset=utf-8"), ("#", "text/html; x=1"),
            ("#.png", "image/png, text/html"), ("#.png", "text/html;image/png"), ("#.svg+xml", "image/svg+xml"),
            ("#.xml;x", nil), ("#.x%2Bxml", nil), ("#", "image"), ("#.svgz", "application/octet-stream"),
        ])
    }

    @Test("2026-35200: name and type must say the same")
    func advisory2026_35200_nameAndTypeMustAgree() async throws {
        try await expectRefused([
            ("#.png", "text/html"), ("#.txt", "image/png"), ("#.pdf", "text/plain"), ("#.jpg", "image/png"),
            ("#.csv", "application/json"), ("#.mp4", "image/gif"), ("#.bin", "image/png"),
            ("#.png", "application/x-sh"),
        ])
    }

    @Test("2026-53724: a dot or a blank at the end of a name hides no extension")
    func advisory2026_53724_aTrailingDotHidesNothing() async throws {
        try await expectRefused([
            ("#.html.", "text/html"), ("#.svg..", nil), ("#.png.", "image/png"), ("#.html.%20", "text/html"),
            ("#.html%20.", "text/plain"), ("#.", "text/html"), ("#.", "image/png"), ("#..", nil),
            ("#.png%20", "image/png"),
        ])
    }

    @Test("2026-55778: only extensions of the list are taken in")
    func advisory2026_55778_unusualExtensionsAreNotTakenIn() async throws {
        try await expectRefused([
            ("#.shtml", "text/html"), ("#.phtml", nil), ("#.php", "application/octet-stream"), ("#.php5", nil),
            ("#.jsp", nil), ("#.asp", nil), ("#.cgi", nil), ("#.exe", "application/x-msdownload"), ("#.sh", nil),
            ("#.vbs", nil), ("#.qqq", nil), ("#.png1", "image/png"), ("#.pngx", "image/png"), ("#.~html", nil),
            ("#.p%6Eg-", "image/png"), ("#", "chemical/x-pdb"),
        ])
    }

    /// Sends each pair through every upload route. All get `.fileSaveError` (130) and store nothing, while an image is
    /// accepted.
    /// - Parameter pairs: names, in which `#` stands for a random string, and content types.
    private func expectRefused(_ pairs: [(name: String, type: String?)]) async throws {
        let suite = try await Suite.shared
        let client = try await Customer.signUp(suite).client
        let mark = Names.random(12)
        var kept = 0
        for way in UploadWay.allCases {
            for (name, type) in pairs + [("#.png", "image/png")] {
                let content = Array("<script>alert(1)</script>".utf8)
                let path = name.replacingOccurrences(of: "#", with: mark)
                let answer = try await client.upload(way, content, as: path, type: type)
                let what = "\(way) \(name) \(type ?? "-"): \(answer.status) \(answer.text)"
                if name == "#.png", type == "image/png" {
                    #expect(answer.status == 201, "\(what)")
                    kept += 1
                } else {
                    // The name itself may be refused before its extension is checked.
                    let code = name.contains(";") || name.contains("+") || name.contains("%2B") ? 122 : 130
                    #expect(answer.status == 400, "\(what)")
                    #expect(answer.code == code, "\(what)")
                }
            }
        }
        let rows = try await suite.rows("catalog", "SELECT count(*) FROM files WHERE name LIKE '%\(mark)%'")
        #expect(rows == [[.int(Int64(kept))]])
        let inBatch = try await client.go(
            .batched, .POST, "/files/\(mark).png", ["base64": "eA==", "_ContentType": "image/png"])
        #expect(inBatch.code == 108, "\(inBatch.text)")
    }
}

/// The upload routes (PARSE_PROTOCOL section 10).
enum UploadWay: CaseIterable, Sendable {
    case raw
    /// The same under hosted Parse's path.
    case hosted
    /// JSON with the bytes in base64, as the JavaScript SDK sends it.
    case inJSON
}

extension ParseClient {
    /// - Parameter name: percent-encoded for a path.
    func upload(_ way: UploadWay, _ content: [UInt8], as name: String, type: String?) async throws -> Answer {
        switch way {
        case .raw: return try await upload(content, as: name, type: type)
        case .hosted:
            var client = self
            client.url = url.replacingOccurrences(of: "/parse", with: "/1")
            return try await client.upload(content, as: name, type: type)
        case .inJSON:
            var body: [String: JSON] = [
                "base64": .string(Data(content).base64EncodedString()), "_ApplicationId": "satchel",
                "_SessionToken": .string(sessionToken ?? ""),
            ]
            body["_ContentType"] = type.map(JSON.string)
            return try await send(
                .POST, "/files/\(name)", headers: [("Content-Type", "text/plain")], body: JSON.object(body).serialized)
        }
    }
}
