import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The dashboard of a test's own suite, used in headless Chromium as operators do.
final class Desk: Sendable {
    /// The width of a screen. Flows whose views are arranged in another way on a phone run on both; of the others,
    /// every second one runs on each.
    enum Screen: String, CaseIterable, Sendable { case desk, phone }

    private let start: Task<Suite, any Error>

    /// For tests that do not mind what others do in their shop. An idle suite takes processor time, too.
    static let shared = Desk()

    /// - Parameter settings: further settings of its suite.
    init(settings: [String: String] = [:]) {
        let all = ["SATCHEL_MFA": "totp", "SATCHEL_SHOP_NAME": "Beauty & Me"].merging(settings) { $1 }
        start = Task { try await Suite.start(settings: all) }
    }

    var suite: Suite { get async throws { try await start.value } }

    /// Runs a flow of `Tests/Peers/pages/dashboard.py` and expects no errors. Console errors, reports of policy
    /// violations and requests to other hosts count as errors.
    @discardableResult
    func check(
        _ flow: String, on screen: Screen, _ given: [String: JSON] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSON {
        let suite = try await suite
        let password = try suite.adminPassword()
        let standard: [String: JSON] = [
            "user": "admin@satchel.example", "password": .string(password), "viewport": .string(screen.rawValue),
        ]
        let report = try await Browsers.shared.run([
            "base": .string(suite.origin), "flow": .string(flow), "given": .object(standard.merging(given) { $1 }),
        ])
        for failure in report["failures"]?.arrayValue ?? [.string("No report: \(report)")] {
            Issue.record("\(failure.stringValue ?? failure.serializedText)", sourceLocation: sourceLocation)
        }
        return report
    }

    /// Expects these views to be accessible.
    /// - Parameter withGrid: also the grid of products, by keyboard.
    func checkAccess(to paths: [JSON], on screen: Screen, withGrid: Bool = false) async throws {
        if withGrid { _ = try await Shelf.fill(suite, names: (0..<2).map { "Row \($0) \(Names.random(6))" }) }
        try await check("accessible", on: screen, ["paths": .array(paths), "grid": .bool(withGrid)])
    }

    /// A customer who just paid for two pieces at 3.50.
    func paid(lastName: String = "Long") async throws -> (customer: Customer, orderNo: JSON) {
        let suite = try await suite
        let shelf = try await Shelf.fill(suite, names: ["Desk \(Names.random(6))"])
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        var address = Customer.address
        address["lastName"] = .string(lastName)
        let answer = try await customer.client.run("checkout", ["tokenId": "tok_visa", "shippingAddress": address])
        guard answer.status == 200, let orderNo = answer.result["orderNo"] else { throw Unexpected("checkout", answer) }
        return (customer, orderNo)
    }

    /// Reports two devices whose first day was four days ago; one of them returned two days later. Repeated reports
    /// change nothing.
    func comeBack() async throws {
        try await untilDayIsNotEnding()
        for (device, daysAgo) in [("one", 4), ("two", 4), ("one", 2)] as [(String, Int64)] {
            var client = ParseClient(try await suite)
            client.installationId = "cohort-\(device)"
            let at = Timestamp.now.advanced(by: .seconds(-86_400 * daysAgo))
            let answer = try await client.call(.POST, "/events/AppOpened", ["at": at.wire])
            guard answer.status == 200 else { throw Unexpected("POST events", answer) }
        }
    }

    /// A string that looks like a script; a row must show it unchanged.
    static let script = "<img src=x onerror=alert('row')>"

    /// Creates rows with every type that clients write, using the master key.
    func fill(_ className: String, rows: Int, owner: String) async throws {
        let master = ParseClient.master(try await suite)
        for start in stride(from: 0, to: rows, by: 50) {
            let requests = (start..<min(start + 50, rows)).map { row -> JSON in
                let body: JSON = [
                    "text": .string(row == rows - 1 ? Self.script : "row \(row)"), "count": .int(Int64(row)),
                    "flag": .bool(row.isMultiple(of: 2)),
                    "when": ["__type": "Date", "iso": "2030-05-02T10:15:00.000Z"],
                    "tags": ["a", "b"], "place": ["__type": "GeoPoint", "latitude": 52.5, "longitude": 13.4],
                    "more": ["of": ["row": .int(Int64(row))]], "owner": .pointer("Category", owner),
                ]
                return ["method": "POST", "path": .string("/parse/classes/\(className)"), "body": body]
            }
            let answer = try await master.call(.POST, "/batch", ["requests": .array(requests)])
            guard answer.status == 200 else { throw Unexpected("POST batch", answer) }
        }
    }

    /// A class for one test, which only operators may see.
    func makeClass() async throws -> String {
        let name = "Rows\(Names.random(6))"
        let verbs = ["find", "get", "count", "create", "update", "delete", "addField"]
        let admins: JSON = ["role:admins": true]
        let permissions = JSON.object(Dictionary(uniqueKeysWithValues: verbs.map { ($0, admins) }))
        let made = try await ParseClient.master(suite).call(
            .POST, "/schemas/\(name)", ["classLevelPermissions": permissions])
        guard made.status == 200 else { throw Unexpected("POST schemas", made) }
        return name
    }
}
