import Messages
import ParseProtocol

/// The address book.
extension Shop {
    private static let book = "/account/addresses"
    private static let new = "new"
    private static let labelled = addressFields + ["label"]

    func addresses(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.book)
        let owner = JSON.pointer("_User", visit.request.userID)
        let answer = try visit.ask(.find("Address", ["owner": owner], order: "-default,-updatedAt", limit: 100))[0]
        try require(answer, visit)
        let view = view(visit)
        let addresses = answer.results.map { address -> [String: Any] in
            let lines = view.addressLines(address)
            let id = address["objectId"]?.stringValue ?? ""
            let title = address["label"]?.stringValue ?? ""
            var values: [String: Any] = [
                "href": "\(Self.book)/\(id.percentEncoded)", "addressLines": lines,
                "isDefault": address["default"] == true, "name": title.isEmpty ? lines.first ?? "" : title,
            ]
            if !title.isEmpty { values["title"] = title }
            return values
        }
        var values: [String: Any] = ["addresses": addresses, "isEmpty": addresses.isEmpty]
        values["saved"] = visit.query("saved") == "1"
        return render("account/addresses", visit, title: view.words("addresses.title"), values, personal: true)
    }

    /// The form for an address; `new` is the id of one that is not stored yet.
    func address(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "\(Self.book)/\(id.percentEncoded)")
        if let kept = visit.kept { return addressPage(visit, id, kept) }
        guard id != Self.new else {
            let user = try account(of: &visit)
            return addressPage(visit, id, ShopForm(["firstName", "lastName"], of: user))
        }
        let answer = try visit.ask(.get("classes/Address/\(id.percentEncoded)"))[0]
        try require(answer, visit)
        return addressPage(visit, id, ShopForm(Self.labelled, of: answer.json))
    }

    private func addressPage(_ visit: ShopVisit, _ id: String, _ form: ShopForm) -> ShopPage {
        let words = view(visit).words
        var values = form.values(
            Self.labelled.map { name in
                form.field(
                    name, words("address.\(name)"), autocomplete: Self.autocomplete[name] ?? "off",
                    isRequired: Self.requiredFields.contains(name))
            })
        let title = words(id == Self.new ? "addresses.add" : "addresses.edit")
        values["action"] = "\(Self.book)/\(id.percentEncoded)"
        values["heading"] = title
        values["button"] = words("form.save")
        return render("account/form", visit, title: title, values, personal: true)
    }

    func saveAddress(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.book)
        let words = view(visit).words
        var form = ShopForm(Self.labelled, sent: visit, words)
        form.require(Self.requiredFields, words)
        let page = "\(Self.book)/\(id.percentEncoded)"
        guard form.isGood else { return again(page, form) }
        let isNew = id == Self.new
        var address: [String: JSON] = [:]
        for name in Self.labelled where !isNew || !form[name].isEmpty { address[name] = .textOrNothing(form[name]) }
        let path = "classes/Address" + (isNew ? "" : "/\(id.percentEncoded)")
        let answer = try visit.ask(.send(isNew ? "POST" : "PUT", path, .object(address)))[0]
        guard answer.code == 142 else {
            try require(answer, visit)
            return redirect("\(Self.book)?saved=1")
        }
        form.problem = answer.message
        return again(page, form)
    }

    /// Makes an address the default, or deletes it.
    func changeAddress(_ visit: inout ShopVisit, _ id: String, _ step: String) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.book)
        let path = "classes/Address/\(id.percentEncoded)"
        let answer: ShopAnswer
        switch step {
        case "default": answer = try visit.ask(.send("PUT", path, ["default": true]))[0]
        case "delete": answer = try visit.ask(.send("DELETE", path, [:]))[0]
        default: throw .page(missing(visit))
        }
        // 101: it is deleted already.
        if answer.code != 101 { try require(answer, visit) }
        return redirect(Self.book)
    }
}
