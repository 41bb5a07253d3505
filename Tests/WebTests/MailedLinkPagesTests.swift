import Foundation
import ParseProtocol
import ProcessKit
import Testing
import WebService

/// The pages behind mailed links.
@Suite struct MailedLinkPagesTests {
    /// The templates that come with Satchel.
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Services/Web/Pages")

    private static func pages(replacing texts: [String: String] = [:]) throws -> MailedLinkPages {
        let own = FileManager.default.temporaryDirectory.appending(path: "pages-\(Names.random(12))")
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: own) }
        for (name, text) in texts { try Data(text.utf8).write(to: own.appending(path: name)) }
        return try MailedLinkPages(reading: folder, replacements: own.path, shopName: "Beauty & Me")
    }

    @Test(arguments: [
        "choose-password", "password-changed", "password-link-void", "email-verified", "email-already-verified",
        "verification-link-void", "mail-requested", "problem",
    ])
    func eachPageIsInTheFrame(_ name: String) throws {
        let html = try #require(try Self.pages().html(name, ["message": "<script>"]))
        #expect(html.contains("<title>Beauty &amp; Me</title>"))
        #expect(html.contains("<h1>"))
        #expect(!html.contains("<script"))
        let pages = try MailedLinkPages(
            reading: Self.folder.appending(path: "de"), replacements: nil, shopName: "Beauty & Me")
        let german = try #require(pages.html(name, ["message": "<script>"]))
        #expect(german.contains("<html lang=\"de\">") && german != html)
        for word in ["password", "Your", "You "] {
            let visible = german.replacing(#/<[^>]*>/#, with: "")
            #expect(!visible.contains(word), "\(visible)")
        }
    }

    @Test(arguments: ["frame", "nothing", "../Pages/problem", ""])
    func thereIsNoOtherPage(_ name: String) throws {
        #expect(try Self.pages().html(name, [:]) == nil)
    }

    @Test func aPageOfTheOperatorReplacesOurs() throws {
        let pages = try Self.pages(replacing: ["problem.mustache": "<p>{{shop}}: {{message}}</p>"])
        let html = try #require(pages.html("problem", ["message": "a < b"]))
        #expect(html.contains("<p>Beauty &amp; Me: a &lt; b</p>"), "\(html)")
        #expect(html.contains("<!DOCTYPE html>"))
        #expect(try #require(pages.html("email-verified", [:])).contains("Thank you"))
    }

    @Test func aBrokenPageEndsTheStart() {
        #expect(throws: StartupProblem.self) { _ = try Self.pages(replacing: ["problem.mustache": "{{#open}}"]) }
        #expect(throws: StartupProblem.self) {
            _ = try MailedLinkPages(reading: URL(fileURLWithPath: "/nowhere"), replacements: nil, shopName: "")
        }
    }
}
