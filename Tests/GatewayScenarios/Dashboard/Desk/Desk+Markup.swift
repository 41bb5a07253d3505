import ParseProtocol
import TestSupport

/// Shop objects whose names, texts and reports contain markup.
extension Desk {
    /// Runs a script wherever text is interpreted as markup.
    static let markup = "<img src=x onerror=alert(1)>"

    /// A crash with every field that the view shows.
    static func crash(release: String) -> String {
        let eventId = CrashProject.newId()
        let own: JSON = [
            "function": "checkout()", "filename": "Bag.swift", "lineno": 17, "in_app": true,
            "pre_context": ["func checkout() {"], "context_line": .string("    let item = items[7] // \(markup)"),
            "post_context": ["}"],
        ]
        let frames: JSON = [["function": "main", "filename": "main.swift", "lineno": 3], own]
        let thrown: JSON = [
            "type": "OutOfBag", "value": .string("index 7 \(markup)"), "stacktrace": ["frames": frames],
        ]
        let crumb: JSON = ["timestamp": 1_700_000_000, "category": "ui.tap", "message": .string("Bag \(markup)")]
        let event: JSON = [
            "event_id": .string(eventId), "release": .string(release), "level": "fatal", "platform": "cocoa",
            "exception": ["values": [thrown]], "breadcrumbs": ["values": [crumb]],
            "contexts": ["device": ["model": .string("iPhone14,2 \(markup)")]], "tags": ["screen": .string(markup)],
            "user": ["id": "u1"],
        ]
        return CrashProject.envelope(of: event, eventId: eventId)
    }

    /// A crash that was just reported.
    func crashed() async throws -> CrashProject {
        let project = try await CrashProject.create(suite)
        let answer = try await project.send(Array(Self.crash(release: "shop@1.0.0").utf8), key: project.key)
        guard answer.status == 200 else { throw Unexpected("envelope", answer) }
        for (session, device) in [("s1", "d1"), ("s2", "d1"), ("s3", "d2")] {
            let status = session == "s3" ? "crashed" : "ok"
            try await project.tell(session: session, of: device, release: "shop@1.0.0", status: status)
        }
        return project
    }

    /// The paths of these views, with data in each.
    func shopPaths() async throws -> [JSON] {
        let suite = try await suite
        let shelf = try await Shelf.fill(suite, names: ["Path \(Names.random(6))"])
        let promotion = try await Customer.admin(suite).create(
            "Promotion", ["content": "Two for one", "audience": ["where": ["deviceType": "ios"]]])
        guard promotion.status == 201 else { throw Unexpected("POST Promotion", promotion) }
        let place: JSON = ["__type": "GeoPoint", "latitude": 46.95, "longitude": 7.44]
        let store = try await Customer.admin(suite).create("Store", ["name": "Path", "location": place])
        guard store.status == 201 else { throw Unexpected("POST Store", store) }
        let issues = try await crashed().issues()
        return [
            .string("/products/\(shelf.productIds[0])"), "/brands", "/stores", "/pages", "/storefront",
            "/promotions", "/promotions/new", .string("/promotions/\(promotion.objectId)"), "/crashes",
            "/crashes?sheet=figures",
            .string("/crashes/\(issues.first?.text("issueId") ?? "")"),
        ]
    }
}
