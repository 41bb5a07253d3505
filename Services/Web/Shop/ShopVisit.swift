import Foundation
import Messages
import ParseProtocol

/// The request for a page and the results so far. A page's code runs from its start at every step: `ask` returns the
/// results that are there, and otherwise ends the step with the requests that are missing. The code must therefore ask
/// the same in the same order each time.
struct ShopVisit {
    let request: ShopRequest
    let theme: ShopTheme
    private var asked = 0

    init(_ request: ShopRequest, _ theme: ShopTheme) {
        self.request = request
        self.theme = theme
    }

    /// - Returns: a result for each request, also for a refused one.
    /// - Throws: `ShopStop.asks` when the requests have no results yet.
    mutating func ask(_ asks: ShopAsk...) throws(ShopStop) -> [ShopAnswer] { try ask(all: asks) }

    /// As `ask`, for a list.
    mutating func ask(all asks: [ShopAsk]) throws(ShopStop) -> [ShopAnswer] { try ask(asks.count) { asks } }

    /// As `ask`, for requests that are made only in the step that sends them.
    mutating func ask(_ count: Int, _ asks: () -> [ShopAsk]) throws(ShopStop) -> [ShopAnswer] {
        let start = asked
        asked += count
        guard request.results.count >= asked else { throw .asks(asks()) }
        return request.results[start..<asked].map { ShopAnswer($0) }
    }

    var isSignedIn: Bool { !request.userID.isEmpty && !request.guest }
    var isNobody: Bool { request.userID.isEmpty }

    /// The form that the shopper has sent and that had a problem, for the page that shows it again.
    var kept: ShopForm? { ShopForm(kept: request.kept) }

    /// A field of the form without white space around it; empty when it is missing.
    func field(_ name: String) -> String { (request.form[name] ?? "").trimmingCharacters(in: .whitespacesAndNewlines) }

    func query(_ name: String) -> String { (request.query[name] ?? "").trimmingCharacters(in: .whitespacesAndNewlines) }

    /// The page to return to: a path of this shop, and never another host.
    func next(_ standard: String) -> String {
        let wanted = request.form["next"] ?? request.query["next"] ?? ""
        let isOurs =
            wanted.hasPrefix("/") && !wanted.hasPrefix("//")
            && wanted.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\\")
            }
        return isOurs ? wanted : standard
    }
}

/// Ends a step of a page.
enum ShopStop: Error {
    /// These requests have to run first.
    case asks([ShopAsk])
    /// The page is another one than its code was about to show: a redirection, or an error.
    case page(ShopPage)
}

/// The result of a request. A class, because each step has all results so far and reads some of them.
final class ShopAnswer {
    let status: Int
    private let body: Data
    private(set) lazy var json: JSON = (try? JSON(parsing: Array(body))) ?? .null

    init(_ result: ShopResult) {
        status = Int(result.status)
        body = result.body
    }

    var isSuccess: Bool { (200..<300).contains(status) }
    /// The code of the error; nil for success.
    var code: Int64? { isSuccess ? nil : json["code"]?.intValue ?? 1 }
    /// The error's text for people.
    var message: String { json["error"]?.stringValue ?? "" }
    /// The objects of a query.
    var results: [JSON] { json["results"]?.arrayValue ?? [] }
    var count: Int { Int(json["count"]?.intValue ?? 0) }
    /// The result of a function.
    var result: JSON { json["result"] ?? .null }
}

extension ShopAsk {
    static func get(_ path: String, _ options: [String: JSON] = [:]) -> ShopAsk {
        .with {
            $0.method = "GET"
            $0.path = path
            $0.query = String(options.queryText.dropFirst())
        }
    }

    /// - Parameter order: empty for the order of creation.
    static func find(
        _ className: String, _ condition: JSON = [:], order: String, limit: Int, skip: Int = 0, counts: Bool = false,
        include: String = "", keys: String = ""
    ) -> ShopAsk {
        var options: [String: JSON] = [
            "where": condition, "limit": .int(Int64(limit)), "skip": .int(Int64(skip)),
        ]
        if !order.isEmpty { options["order"] = .string(order) }
        if !keys.isEmpty { options["keys"] = .string(keys) }
        if counts { options["count"] = 1 }
        if !include.isEmpty { options["include"] = .string(include) }
        return get("classes/\(className)", options)
    }

    static func send(_ method: String, _ path: String, _ body: JSON, beginsSession: Bool = false) -> ShopAsk {
        .with {
            $0.method = method
            $0.path = path
            $0.body = Data(body.serialized)
            $0.beginsSession = beginsSession
        }
    }

    /// A step of a log-in at an identity provider (`WebSignIn` of `users`).
    static func webSignIn(_ step: JSON) -> ShopAsk { send("POST", "webSignIn", step) }

    static func function(_ name: String, _ parameters: JSON = [:]) -> ShopAsk {
        send("POST", "functions/\(name)", parameters)
    }

    /// A guest's account, which keeps the bag of a shopper who has not signed in.
    static var guest: ShopAsk {
        let id = JSON.string(UUID().uuidString.lowercased())
        return send("POST", "users", ["authData": ["anonymous": ["id": id]]], beginsSession: true)
    }
}
