import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The account's pages of the storefront, as a browser without scripts sees them.
@Suite struct StorefrontAccountTests {
    /// A customer who has logged in to an app and to the storefront.
    private static func customer(_ suite: Suite) async throws -> (Browser, Customer) {
        let customer = try await Customer.signUp(suite)
        return (try await browser(of: customer, suite), customer)
    }

    private static func browser(of customer: Customer, _ suite: Suite) async throws -> Browser {
        let browser = Browser(suite)
        let form = ["email": customer.email, "password": customer.password]
        // A suite hashes few passwords at a time.
        try await eventually("the log-in") { try await browser.post("/log-in", form).location == "/account" }
        return browser
    }

    private static func me(_ customer: Customer) async throws -> JSON {
        try await customer.client.get("/users/me").json
    }

    // MARK: - Contact data

    @Test func contactDataIsCheckedSavedAndVerified() async throws {
        let suite = try await Suite.shared
        let (browser, customer) = try await Self.customer(suite)
        #expect(try await browser.get("/account").html.contains(#"href="/account/contact""#))
        let page = try await browser.get("/account/contact")
        #expect(page.field("firstName") == "Ada")
        #expect(page.field("email") == customer.email)
        #expect(page.headers.first(name: "Cache-Control") == "no-store")

        var form = ["firstName": "Ann <b>", "lastName": "", "phone": "555", "gender": "female", "email": "nowhere"]
        let wrong = try await browser.submit("/account/contact", form)
        #expect(wrong.html.contains(#"aria-describedby="email-wrong""#), "\(wrong.html)")
        #expect(wrong.html.contains(#"value="Ann &lt;b&gt;""#))
        form["email"] = try await Customer.signUp(suite).email
        let taken = try await browser.submit("/account/contact", form)
        #expect(taken.html.contains("Another account has this address."), "\(taken.html)")
        #expect(try await Self.me(customer)["firstName"] == "Ada")

        let address = "\(Names.random(10).lowercased())@customers.example"
        form["email"] = address
        let saved = try await browser.post("/account/contact", form)
        #expect(saved.location == "/account/contact?saved=1", "\(saved.html)")
        let me = try await Self.me(customer)
        #expect(["firstName", "phone", "gender"].map { me[$0] } == ["Ann <b>", "555", "female"], "\(me)")
        #expect(["email", "username"].map { me[$0] } == [.string(address), .string(address)], "\(me)")
        #expect(me["emailVerified"] == false)

        let unverified = try await browser.get("/account/contact?saved=1")
        #expect(unverified.html.contains("Your e-mail address is not verified"), "\(unverified.html)")
        #expect(try await browser.post("/account/contact/verify", [:]).location == "/account/contact?sent=1")
        let links = try await MailedLink.all("verify_email", to: address, in: suite, atLeast: 2)
        #expect(try await links[0].open().status == 200)
        #expect(try await browser.get("/account/contact").html.contains("Your e-mail address is verified."))
    }

    @Test func aGenderOfTheAppIsKept() async throws {
        let suite = try await Suite.shared
        let (browser, customer) = try await Self.customer(suite)
        let path = "/users/\(customer.userId)"
        try #require(try await customer.client.call(.PUT, path, ["gender": 1]).status == 200)
        #expect(try await browser.get("/account/contact").html.contains(#"value="kept" selected"#))
        var form = ["firstName": "Ada", "email": customer.email, "gender": "kept"]
        #expect(try await browser.post("/account/contact", form).status == 303)
        #expect(try await Self.me(customer)["gender"] == 1)
        form["gender"] = ""
        #expect(try await browser.post("/account/contact", form).status == 303)
        #expect(try await Self.me(customer)["gender"] == nil)
    }

    // MARK: - Addresses and cards

    @Test func theAddressBookIsKept() async throws {
        let suite = try await Suite.shared
        let (browser, customer) = try await Self.customer(suite)
        #expect(try await browser.get("/account/addresses").html.contains("no addresses"))
        #expect(try await browser.get("/account/addresses/new").field("firstName") == "Ada")
        var form = [
            "firstName": "Ada", "lastName": "Long", "address1": "1 Main St", "city": "", "state": "IL",
            "zipcode": "62701", "label": "Home",
        ]
        let wrong = try await browser.submit("/account/addresses/new", form)
        #expect(wrong.html.contains(#"id="city-wrong">Please fill in this field."#), "\(wrong.html)")
        #expect(wrong.field("address1") == "1 Main St")
        form["city"] = "Springfield"
        #expect(try await browser.post("/account/addresses/new", form).location == "/account/addresses?saved=1")
        form["label"] = "Work"
        #expect(try await browser.post("/account/addresses/new", form).status == 303)

        let stored = try await customer.client.find("Address", [:], ["order": "createdAt"]).results
        #expect(stored.map { $0["label"] } == ["Home", "Work"])
        #expect(stored.map { $0["default"] == true } == [true, false])
        let (home, work) = (stored[0].objectId, stored[1].objectId)
        #expect(try await browser.get("/account/addresses/\(work)").field("label") == "Work")
        form["label"] = ""
        form["city"] = "Chicago"
        #expect(try await browser.post("/account/addresses/\(work)", form).status == 303)
        #expect(try await browser.post("/account/addresses/\(work)/default", [:]).status == 303)
        let changed = try await customer.client.get("/classes/Address/\(work)")
        #expect(changed["city"] == "Chicago")
        #expect(changed["label"] == nil)
        #expect(changed["default"] == true)
        // Nobody else reads, changes or deletes it.
        let (other, _) = try await Self.customer(suite)
        #expect(try await other.get("/account/addresses/\(work)").status == 404)
        #expect(try await other.post("/account/addresses/\(work)", form).status == 404)
        #expect(try await other.post("/account/addresses/\(work)/delete", [:]).status == 303)
        #expect(try await Browser(suite).get("/account/addresses").location == "/log-in?next=%2Faccount%2Faddresses")
        #expect(try await customer.client.find("Address").results.count == 2)

        for _ in 1...2 { #expect(try await browser.post("/account/addresses/\(work)/delete", [:]).status == 303) }
        #expect(try await customer.client.find("Address").results.map(\.objectId) == [home])
    }

    @Test func cardsAreKept() async throws {
        let suite = try await Suite.shared
        let (browser, customer) = try await Self.customer(suite)
        let declined = try await browser.submit(
            "/account/payments", ["card": "tok_chargeDeclinedInsufficientFunds"])
        #expect(declined.html.contains("insufficient funds"), "\(declined.html)")
        for card in ["tok_visa", "tok_mastercard"] {
            #expect(try await browser.post("/account/payments", ["card": card]).location == "/account/payments")
        }
        #expect(try await browser.get("/account/payments").html.contains("Visa •••• 4242 <"))
        let methods = try await customer.client.find("PaymentMethod", [:], ["order": "createdAt"]).results
        try #require(methods.count == 2)
        #expect(try await browser.post("/account/payments/\(methods[1].objectId)/default", [:]).status == 303)
        #expect(
            try await customer.client.get("/classes/PaymentMethod/\(methods[1].objectId)")["default"] == true)
        #expect(try await browser.post("/account/payments/\(methods[0].objectId)/delete", [:]).status == 303)
        let left = try await browser.get("/account/payments")
        #expect(left.html.contains("MasterCard •••• 4444 <") && !left.html.contains("Visa •••• 4242 <"), "\(left.html)")
    }

    // MARK: - Sessions and passwords

    @Test func anotherDeviceIsLoggedOut() async throws {
        let suite = try await Suite.shared
        let (browser, customer) = try await Self.customer(suite)
        let page = try await browser.get("/account/devices")
        #expect(page.html.contains("This browser"), "\(page.html)")
        let other = try await customer.client.get("/sessions/me").objectId
        #expect(page.html.contains("/account/devices/\(other)/end"))
        let stranger = try await Customer.signUp(suite)
        let foreign = try await stranger.client.get("/sessions/me").objectId
        #expect(!page.html.contains(foreign))
        #expect(try await browser.post("/account/devices/\(foreign)/end", [:]).status == 303)
        #expect(try await stranger.client.get("/users/me").status == 200)
        for _ in 1...2 { #expect(try await browser.post("/account/devices/\(other)/end", [:]).status == 303) }
        #expect(try await customer.client.get("/users/me").code == 209)
        #expect(try await browser.get("/account").status == 200)
    }

    @Test func aNewPasswordNeedsThePresentOneAndEndsOtherSessions() async throws {
        let suite = try await Suite.shared
        let (browser, customer) = try await Self.customer(suite)
        let new = Names.random(12)
        let guess = try await browser.submit(
            "/account/password", ["password": Names.random(12), "newPassword": new])
        #expect(guess.html.contains("The password is wrong."), "\(guess.html)")
        #expect(!guess.html.contains(new))
        let short = try await browser.submit(
            "/account/password", ["password": customer.password, "newPassword": "short"])
        #expect(short.html.contains("6 characters"))
        let before = browser.cookies
        try await eventually("the new password") {
            try await browser.post("/account/password", ["password": customer.password, "newPassword": new])
                .status == 303
        }
        #expect(browser.cookies != before)
        #expect(try await browser.get("/account").html.contains(customer.email))
        #expect(try await customer.client.get("/users/me").code == 209)
        let again = Browser(suite)
        try await eventually("a log-in with the new password") {
            try await again.post("/log-in", ["email": customer.email, "password": new]).location == "/account"
        }
    }

    @Test func aForgottenPasswordIsAskedForByForm() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let browser = Browser(suite)
        #expect(try await browser.get("/log-in").link("/account/forgotten") == "/account/forgotten")
        let wrong = try await browser.submit("/account/forgotten", ["email": "nowhere"])
        #expect(wrong.field("email") == "nowhere")
        for email in [customer.email, "nobody-\(Names.random(8).lowercased())@customers.example"] {
            let sent = try await browser.post("/account/forgotten", ["email": email])
            #expect(sent.location == "/account/forgotten?sent=1", "\(sent.html)")
        }
        #expect(try await browser.get("/account/forgotten?sent=1").html.contains("Check your mail"))
        let link = try await MailedLink.newest("request_password_reset", to: customer.email, in: suite)
        #expect(try await link.open().status == 200)
    }

    @Test func anAccountIsDeletedWithItsPassword() async throws {
        let suite = try await Suite.shared
        let (browser, customer) = try await Self.customer(suite)
        for (form, text) in [
            (["password": Names.random(12)], "The password is wrong."), ([:], "Please fill in this field."),
        ] {
            let refused = try await browser.submit("/account/delete", form)
            #expect(refused.html.contains(text), "\(refused.html)")
        }
        #expect(try await browser.get("/account").status == 200)
        try await eventually("the deletion") {
            try await browser.post("/account/delete", ["password": customer.password]).location == "/account/deleted"
        }
        #expect(browser.cookies.isEmpty)
        #expect(try await browser.get("/account/deleted").html.contains("Your account is deleted"))
        #expect(try await ParseClient.master(suite).get("/users/\(customer.userId)").status == 404)
        #expect(try await customer.client.get("/users/me").code == 209)
    }

    // MARK: - Reviews

    @Test func aReviewIsWrittenChangedReportedAndDeleted() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Reviewed \(Names.random(6))"])
        let product = "/products/x-\(shelf.productIds[0])"
        let (browser, customer) = try await Self.customer(suite)
        let page = try await Browser(suite).open(product)
        let link = try #require(page.link("/products/reviewed-"), "\(page.html)")
        #expect(link.hasSuffix("/review"))
        #expect(try await Browser(suite).get(link).location?.hasPrefix("/log-in?next=") == true)

        let wrong = try await browser.submit("\(product)/review", ["rating": "6", "content": "<script>"])
        #expect(wrong.html.contains(#"id="rating-wrong""#), "\(wrong.html)")
        #expect(wrong.html.contains("&lt;script&gt;") && !wrong.html.contains("<script>"))
        for (rating, text) in [("2", "Sticky."), ("5", "Lovely <3")] {
            let saved = try await browser.post("\(product)/review", ["rating": rating, "content": text])
            #expect(saved.location == "\(product)#reviews", "\(saved.html)")
        }
        let shown = try await Browser(suite).open(product)
        #expect(shown.html.contains("Lovely &lt;3") && !shown.html.contains("Sticky."), "\(shown.html)")
        let reviews = try await customer.client.find(
            "ProductReview", ["product": .pointer("Product", shelf.productIds[0])]
        ).results
        #expect(reviews.map { $0["rating"] } == [5])
        let review = try #require(reviews.first).objectId

        let (other, _) = try await Self.customer(suite)
        #expect(
            try await Browser(suite).post("\(product)/report", ["review": review]).location?
                .hasPrefix("/log-in") == true)
        #expect(try await other.post("\(product)/report", ["review": review]).location == "\(product)/reported")
        #expect(try await other.get("\(product)/reported").html.contains("Thank you"))
        let admin = try await Customer.admin(suite)
        let reported = try await admin.run("reviewsToModerate", ["limit": 1000]).result.arrayValue ?? []
        #expect(reported.contains { $0.objectId == review })

        #expect(try await browser.post("\(product)/review", ["remove": "1"]).status == 303)
        #expect(try await browser.open(product).html.contains("No reviews yet."))
    }

    // MARK: - Orders

    @Test func anOrderShowsItsWayAndRefundsAndIsOrderedAgain() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(
            suite, names: ["Kept \(Names.random(6))", "Gone \(Names.random(6))"], prices: [3.5, 12])
        let (browser, customer) = try await Self.customer(suite)
        for product in shelf.productIds {
            _ = try await customer.client.run("addToBag", ["productId": .string(product), "quantity": 2])
        }
        let paid = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        try #require(paid.status == 200, "\(paid.text)")
        let order = paid.result.text("orderId")
        let admin = try await Customer.admin(suite)
        let shipped = try await admin.run(
            "shipOrder",
            [
                "orderId": .string(order), "carrier": "Parcel Post", "trackingNumber": "PP-78",
                "trackingUrl": "https://post.example/track?n=PP-78",
            ])
        try #require(shipped.status == 200, "\(shipped.text)")
        let placed = try await customer.client.get("/classes/Order/\(order)", ["include": "items"])
        let item = placed["items"]?.arrayValue?.first { $0["unitPriceMinorUnits"] == 350 }
        let refunded = try await admin.run(
            "refundOrder",
            [
                "orderId": .string(order), "reason": "A secret of the desk",
                "lines": [["itemId": .string(try #require(item).objectId), "quantity": 1]],
            ])
        try #require(refunded.result["refundedNow"] == 350, "\(refunded.text)")

        let page = try await browser.get("/orders/\(order)")
        for text in [
            #"href="https://post.example/track?n=PP-78""#, "Parcel Post", "Shipped", "1 refunded", "Refunds", "$3.50",
        ] { #expect(page.html.contains(text), "\(text): \(page.html)") }
        #expect(!page.html.contains("secret"))
        // Only what concerns the customer, and only the customer of this order.
        let seen = try await customer.client.run("orderRefunds", ["orderId": .string(order)])
        #expect(
            Set(seen.result.arrayValue?.first?.objectValue?.keys.map { $0 } ?? [])
                == ["purpose", "amount", "state", "lines", "createdAt"], "\(seen.text)")
        let (other, stranger) = try await Self.customer(suite)
        #expect(try await other.get("/orders/\(order)").status == 404)
        #expect(try await stranger.client.run("orderRefunds", ["orderId": .string(order)]).code == 119)
        #expect(try await other.post("/orders/\(order)/again", [:]).status == 404)

        let gone = try await ParseClient.master(suite).call(
            .PUT, "/classes/Product/\(shelf.productIds[1])", ["active": false])
        try #require(gone.status == 200, "\(gone.text)")
        let again = try await browser.post("/orders/\(order)/again", [:])
        #expect(again.location == "/bag?missing=1", "\(again.html)")
        let bag = try await browser.get("/bag?missing=1")
        #expect(bag.html.contains("no longer sold: 1"), "\(bag.html)")
        #expect(bag.html.contains("$7.00") && bag.html.contains(shelf.names[0]), "\(bag.html)")
    }
}
