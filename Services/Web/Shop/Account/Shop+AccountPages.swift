import Messages
import ParseProtocol

/// The pages below `/account`.
extension Shop {
    func accountPage(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let path = visit.request.path
        let id = path.count > 2 ? path[2] : ""
        let step = path.count > 3 ? path[3] : ""
        switch (visit.request.method, path[1], path.count) {
        case ("GET", "contact", 2): return try contact(&visit)
        case ("POST", "contact", 2): return try saveContact(&visit)
        case ("POST", "contact", 3) where id == "verify": return try sendVerification(&visit)
        case ("GET", "addresses", 2): return try addresses(&visit)
        case ("GET", "addresses", 3): return try address(&visit, id)
        case ("POST", "addresses", 3): return try saveAddress(&visit, id)
        case ("POST", "addresses", 4): return try changeAddress(&visit, id, step)
        case ("GET", "payments", 2): return try payments(&visit)
        case ("POST", "payments", 2): return try addPayment(&visit)
        case ("POST", "payments", 4): return try changePayment(&visit, id, step)
        case ("GET", "devices", 2): return try devices(&visit)
        case ("POST", "devices", 4) where step == "end": return try endDevice(&visit, id)
        case ("GET", "password", 2): return try password(visit)
        case ("POST", "password", 2): return try changePassword(&visit)
        case ("GET", "forgotten", 2): return forgotten(visit)
        case ("POST", "forgotten", 2): return try requestReset(&visit)
        case ("GET", "factor", 2): return try factor(&visit)
        case ("POST", "factor", 2): return try setFactor(&visit)
        case ("POST", "factor", 3) where id == "remove": return try removeFactor(&visit)
        case ("POST", "photo", 2): return try setPhoto(&visit)
        case ("GET", "delete", 2): return try deletion(&visit)
        case ("POST", "delete", 2): return try deleteAccount(&visit)
        case ("GET", "deleted", 2):
            let words = view(visit).words
            return notice(visit, words("delete.done"), words("delete.doneText"), "/", words("bag.goOn"))
        default: throw .page(missing(visit))
        }
    }

    /// - Parameter page: the page after the log-in.
    /// - Throws: `ShopStop.page` with the log-in for a shopper who has not signed in.
    func requireSignedIn(_ visit: ShopVisit, _ page: String) throws(ShopStop) {
        guard !visit.isSignedIn else { return }
        throw .page(redirect("/log-in?next=\(page.percentEncoded)"))
    }

    /// A page that says one thing.
    func notice(_ visit: ShopVisit, _ title: String, _ text: String, _ href: String, _ link: String) -> ShopPage {
        render(
            "account/notice", visit, title: title, ["heading": title, "text": text, "href": href, "link": link],
            personal: true)
    }
}
