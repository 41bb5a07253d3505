import Messages
import ParseProtocol

/// The sessions of an account.
extension Shop {
    private static let devicesPath = "/account/devices"

    func devices(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.devicesPath)
        let owner = JSON.pointer("_User", visit.request.userID)
        let answers = try visit.ask(
            .get("sessions/me"), .find("_Session", ["user": owner], order: "-createdAt", limit: 100))
        for answer in answers { try require(answer, visit) }
        let view = view(visit)
        let own = answers[0].json["objectId"]?.stringValue ?? ""
        let devices = answers[1].results.map { session -> [String: Any] in
            let id = session["objectId"]?.stringValue ?? ""
            // Apps send the id of their installation.
            let kind = session["installationId"] == nil ? "devices.browser" : "devices.app"
            let name = view.words(id == own ? "devices.this" : kind)
            let since = view.words("devices.since", ["date": view.date(session["createdAt"])])
            return [
                "href": "\(Self.devicesPath)/\(id.percentEncoded)/end", "name": name, "since": since,
                "isOther": id != own,
                "endLabel": view.words("devices.endLabel", ["name": name, "since": since]),
            ]
        }
        return render(
            "account/devices", visit, title: view.words("devices.title"), ["devices": devices], personal: true)
    }

    func endDevice(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, Self.devicesPath)
        let answer = try visit.ask(.send("DELETE", "sessions/\(id.percentEncoded)", [:]))[0]
        // 101: it has ended already.
        if answer.code != 101 { try require(answer, visit) }
        return redirect(Self.devicesPath)
    }
}
