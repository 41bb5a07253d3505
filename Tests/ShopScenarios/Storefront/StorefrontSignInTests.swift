import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Log-in at the storefront by identity providers and with a second factor, as a browser without scripts sees it.
@Suite(.serialized) struct StorefrontSignInTests {
    // MARK: - Providers

    /// A suite whose four providers are simulated by one peer.
    private static func withProviders(_ body: (Suite, Peer) async throws -> Void) async throws {
        let key = FileManager.default.temporaryDirectory.path + "/satchel-\(Names.random(10)).p8"
        defer { try? FileManager.default.removeItem(atPath: key) }
        _ = try await Command.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key])
        try await Peer.with("identity.py") { peer in
            let settings = [
                "SATCHEL_FACEBOOK_APP_IDS": "fb-app", "SATCHEL_FACEBOOK_APP_SECRET": "fb-secret",
                "SATCHEL_FACEBOOK_URL": "\(peer.url)/facebook",
                "SATCHEL_FACEBOOK_LOGIN_URL": "\(peer.url)/facebook/dialog",
                "SATCHEL_TWITTER_CONSUMER_KEY": "tw-key", "SATCHEL_TWITTER_CONSUMER_SECRET": "tw-secret",
                "SATCHEL_TWITTER_URL": "\(peer.url)/twitter", "SATCHEL_TWITTER_OAUTH_URL": "\(peer.url)/x",
                "SATCHEL_APPLE_CLIENT_IDS": "com.shop.web,com.shop.app", "SATCHEL_APPLE_KEY_FILE": key,
                "SATCHEL_APPLE_KEY_ID": "KEY", "SATCHEL_APPLE_TEAM_ID": "TEAM",
                "SATCHEL_APPLE_KEYS_URL": "\(peer.url)/keys", "SATCHEL_APPLE_LOGIN_URL": "\(peer.url)/apple/login",
                "SATCHEL_APPLE_TOKEN_URL": "\(peer.url)/apple/token",
                "SATCHEL_GOOGLE_CLIENT_IDS": "google-web", "SATCHEL_GOOGLE_CLIENT_SECRET": "google-secret",
                "SATCHEL_GOOGLE_KEYS_URL": "\(peer.url)/keys", "SATCHEL_GOOGLE_LOGIN_URL": "\(peer.url)/google/login",
                "SATCHEL_GOOGLE_TOKEN_URL": "\(peer.url)/google/token", "SATCHEL_STOREFRONT": "true",
                "SATCHEL_MFA": "totp",
            ]
            try await Suite.with(settings: settings) { try await body($0, peer) }
        }
    }

    private static let providers = ["apple", "facebook", "google", "twitter"]

    private static func ask(
        _ peer: Peer, _ suite: Suite, _ path: String, _ body: JSON? = nil
    ) async throws -> ParseClient.Answer {
        var client = ParseClient(suite)
        client.url = peer.url
        return try await client.send(body == nil ? .GET : .POST, path, body: body?.serialized)
    }

    /// The user of the provider's page; empty for one who cancels.
    private static func person(_ id: String, at peer: Peer, _ suite: Suite) async throws {
        _ = try await ask(peer, suite, "/person", ["id": .string(id)])
    }

    /// Follows the shop to the provider, confirms there, and returns the path of the shop that comes next.
    private static func confirm(
        _ provider: String, next: String = "/account", _ browser: Browser, _ peer: Peer, _ suite: Suite
    ) async throws -> String {
        let begun = try await browser.get("/log-in/\(provider)?next=\(next.percentEncoded)")
        let page = try #require(begun.location, "\(begun.html)")
        #expect(begun.status == 303)
        #expect(page.hasPrefix(peer.url), "\(page)")
        #expect(!page.contains("secret"))
        let back = try await ask(peer, suite, String(page.dropFirst(peer.url.count)))
        let location = try #require(back.headers.first(name: "Location"), "\(back.text)")
        let start = String(suite.url.dropLast("/parse".count))
        #expect(location.hasPrefix("\(start)/log-in/\(provider)/back?"), "\(location)")
        return String(location.dropFirst(start.count))
    }

    @Test func eachProviderLogsInAndTheBagStays() async throws {
        try await Self.withProviders { suite, peer in
            let shelf = try await Shelf.fill(suite, names: ["Lip \(Names.random(4))"])
            let page = try await Browser(suite).get("/log-in?next=%2Fbag")
            for provider in Self.providers {
                #expect(page.html.contains(#"href="/log-in/\#(provider)?next=%2Fbag""#), "\(page.html)")
                try await Self.person("web-\(provider)", at: peer, suite)
                let browser = Browser(suite)
                _ = try await browser.post("/bag", ["product": shelf.productIds[0], "quantity": "2"])
                let guest = browser.cookies
                let back = try await Self.confirm(provider, next: "/bag", browser, peer, suite)
                let done = try await browser.get(back)
                #expect(done.location == "/bag", "\(provider): \(done.html)")
                #expect(browser.cookies.count == 1 && browser.cookies != guest, "\(browser.cookies)")
                #expect(try await browser.get("/badge").html.contains(#""pieces":2,"signedIn":true"#), "\(provider)")
                let stored = try await suite.rows(
                    "users", "SELECT count(*) FROM identities WHERE value = 'web-\(provider)'")
                #expect(stored == [[1]], "\(provider)")

                // The second time it is the same account, on another device.
                let other = Browser(suite)
                let again = try await Self.confirm(provider, other, peer, suite)
                #expect(try await other.get(again).location == "/account", "\(provider)")
                #expect(try await other.get("/badge").html.contains(#""pieces":2,"signedIn":true"#), "\(provider)")
                // The answer of the provider counts once.
                #expect(try await other.get(again).location?.hasPrefix("/log-in?next=") == true)
            }
            #expect(suite.logTails(lines: 10_000) { $0.contains("google-secret") || $0.contains("fb-secret") }.isEmpty)
        }
    }

    /// Login CSRF: the answer to an attacker's log-in does not log a shopper in.
    @Test func aLogInCountsInTheBrowserThatBeganIt() async throws {
        try await Self.withProviders { suite, peer in
            for provider in Self.providers {
                let attacker = Browser(suite)
                let back = try await Self.confirm(provider, attacker, peer, suite)
                let shopper = Browser(suite)
                let none = try await shopper.get(back)
                #expect(none.location?.hasPrefix("/log-in?next=") == true, "\(provider): \(none.html)")
                _ = try await Self.confirm(provider, shopper, peer, suite)
                let foreign = try await shopper.get(back)
                #expect(foreign.location?.hasPrefix("/log-in?next=") == true, "\(provider): \(foreign.html)")
                #expect(try await shopper.get("/badge").html.contains(#""signedIn":false"#), "\(provider)")
                // Another cookie than the gateway's says nothing.
                shopper.cookies["satchel-kept"] = Data(#"{"values":{"state":"x"}}"#.utf8).base64EncodedString()
                #expect(try await shopper.get(back).location?.hasPrefix("/log-in?next=") == true)
            }
        }
    }

    @Test func aRefusedLogInIsExplained() async throws {
        try await Self.withProviders { suite, peer in
            try await Self.person("", at: peer, suite)
            let browser = Browser(suite)
            let back = try await Self.confirm("google", next: "/bag", browser, peer, suite)
            #expect(try await browser.get(back).location == "/log-in?next=%2Fbag")
            let page = try await browser.get("/log-in?next=%2Fbag")
            #expect(page.html.contains("The log-in did not succeed."), "\(page.html)")
            #expect(try await !browser.get("/log-in?next=%2Fbag").html.contains("did not succeed"))
            try await Self.person("p", at: peer, suite)
            let other = try await Self.confirm("google", browser, peer, suite)
            _ = try await Self.ask(peer, suite, "/mode", ["mode": "500"])
            #expect(try await browser.get(other).location?.hasPrefix("/log-in?next=") == true)
            #expect(try await browser.get("/log-in").html.contains("cannot be reached"))
            #expect(try await browser.get("/log-in/twitter").location?.hasPrefix("/log-in?next=") == true)
            #expect(try await browser.get("/log-in/myspace").status == 404)
        }
    }

    @Test func aProviderThatIsNotConfiguredHasNoButton() async throws {
        let suite = try await Suite.shared
        let page = try await Browser(suite).get("/log-in")
        for provider in Self.providers {
            #expect(!page.html.contains("/log-in/\(provider)"))
            #expect(try await Browser(suite).get("/log-in/\(provider)").status == 404)
        }
    }

    // MARK: - The second factor

    /// A customer's browser that sets a second factor up.
    private static func protected(
        _ customer: Customer, _ app: Authenticator, _ suite: Suite
    ) async throws -> [String] {
        let browser = Browser(suite)
        let form = ["email": customer.email, "password": customer.password]
        try await eventually("the log-in") { try await browser.post("/log-in", form).location == "/account" }
        #expect(try await browser.get("/account").html.contains(#"href="/account/factor""#))
        let page = try await browser.get("/account/factor")
        #expect((page.field("secret") ?? "").count == 32, "\(page.html)")
        #expect(page.html.contains("otpauth://totp/"))
        // The test's app has its own secret.
        let wrong = try await browser.submit(
            "/account/factor", ["secret": app.secret, "code": "000000", "password": customer.password])
        #expect(wrong.html.contains("This code is not right"), "\(wrong.html)")
        #expect(wrong.field("secret") == app.secret)
        let done = try await browser.submit(
            "/account/factor",
            ["secret": app.secret, "code": try await app.next(), "password": customer.password])
        let codes = done.html.components(separatedBy: "<li><code>").dropFirst().map { String($0.prefix { $0 != "<" }) }
        try #require(codes.count == 2, "\(done.html)")
        #expect(try await !browser.get("/account/factor").html.contains(codes[0]), "They are shown once.")
        return codes
    }

    @Test func aLogInAsksForTheCode() async throws {
        try await Self.withProviders { suite, peer in
            let customer = try await Customer.signUp(suite)
            let app = Authenticator()
            let codes = try await Self.protected(customer, app, suite)
            let form = ["email": customer.email, "password": customer.password, "next": "/favorites"]
            let browser = Browser(suite)
            #expect(try await browser.get("/log-in/code").location == "/log-in")
            try await eventually("the log-in") { try await browser.post("/log-in", form).location == "/log-in/code" }
            for _ in 1...2 {
                let page = try await browser.get("/log-in/code")
                #expect(page.html.contains("authenticator app"), "\(page.html)")
                #expect(!page.html.contains(customer.password))
                #expect(page.headers.first(name: "Cache-Control") == "no-store")
            }
            #expect(!browser.cookies.values.contains { $0.contains(customer.password) })
            let wrong = try await browser.submit("/log-in/code", ["code": "000000"])
            #expect(wrong.html.contains("This code is not right"), "\(wrong.html)")
            #expect(try await browser.get("/badge").html.contains(#""signedIn":false"#))
            #expect(try await browser.post("/log-in/code", ["code": codes[0]]).location == "/favorites")
            #expect(try await browser.get("/badge").html.contains(#""signedIn":true"#))
            #expect(browser.cookies.count == 1, "The password is forgotten.")

            // A recovery code counts once, and a log-in at a provider needs a code too.
            try await Self.person("linked", at: peer, suite)
            let linked = try await customer.client.call(
                .PUT, "/users/\(customer.userId)", ["authData": ["facebook": ProviderSuite.facebook("linked")]])
            try #require(linked.status == 200, "\(linked.text)")
            let other = Browser(suite)
            let back = try await Self.confirm("facebook", other, peer, suite)
            #expect(try await other.get(back).location == "/log-in/code")
            _ = try await other.get("/log-in/code")
            #expect(try await other.submit("/log-in/code", ["code": codes[0]]).html.contains("This code is not right"))
            #expect(try await other.post("/log-in/code", ["code": try await app.next()]).location == "/account")

            let off = try await browser.post(
                "/account/factor/remove", ["code": codes[1], "password": customer.password])
            #expect(off.location == "/account?saved=1")
            try await eventually("the log-in") {
                try await Browser(suite).post("/log-in", form).location == "/favorites"
            }
        }
    }

    @Test func whereItIsOffThereIsNoPage() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let browser = Browser(suite)
        let form = ["email": customer.email, "password": customer.password]
        try await eventually("the log-in") { try await browser.post("/log-in", form).location == "/account" }
        #expect(try await !browser.get("/account").html.contains("/account/factor"))
        #expect(try await browser.get("/account/factor").status == 404)
    }

    // MARK: - The photo

    @Test func thePhotoIsStoredWithoutItsMetadataAndRemoved() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let browser = Browser(suite)
        let form = ["email": customer.email, "password": customer.password]
        try await eventually("the log-in") { try await browser.post("/log-in", form).location == "/account" }
        let images = try TestImages()
        var photo = try await images.plain("a.jpg", [20, 60, 200])
        photo.insert(contentsOf: exifSegment(orientation: 6), at: 2)
        let uploaded = try await browser.upload("/account/photo", photo, type: "image/jpeg")
        #expect(uploaded.location == "/account?saved=1", "\(uploaded.html)")
        let name = try await customer.client.get("/users/me")["photo"]?.text("name") ?? ""
        try #require(!name.isEmpty)
        #expect(try await browser.get("/account").html.contains(name))
        let stored = try await customer.client.download(customer.client.path(of: name)).body
        #expect(await images.field("width", of: stored) == "300")
        #expect(await images.field("orientation", of: stored) == "6")
        #expect(stored.firstRange(of: exifSegment(orientation: 6)) == nil)
        for (file, type) in [("<svg/>", "image/svg+xml"), ("<script>", "image/jpeg"), ("", "")] {
            let refused = try await browser.upload("/account/photo", Array(file.utf8), type: type)
            #expect(refused.location == "/account", "\(type): \(refused.html)")
        }
        #expect(try await browser.post("/account/photo", ["remove": "1"]).location == "/account?saved=1")
        #expect(try await customer.client.get("/users/me")["photo"] == nil)
    }
}
