import Foundation
import ParseProtocol
import SuiteClient

/// Creates all kinds of data that clients may create: fields, classes, users, devices, events, bags, files.
struct FloodAttack: Attack {
    let name = "floods"
    let kind = "floods"
    let summary = "new fields, classes, anonymous users, installations, events, bags and files"
    let connections = 40

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        // Accounts first, because only users have files and bags.
        let tokens = await withTaskGroup(of: (Int, String?).self) { group in
            for index in 0..<min(4, attackers.connections) { group.addTask { (index, await attackers.account(index)) } }
            return await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
        }
        let target = attackers.target
        let file = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        await attackers.hammer(until: end) { connection, round in
            let token = tokens[connection % 4]
            let session = token.map { ["X-Parse-Session-Token": $0] } ?? [:]
            if (connection + round) % 8 == 7 {
                return Request.bytes(
                    for: target, method: "POST", path: "/files/flood.txt", headers: session, content: file,
                    type: "text/plain")
            }
            var request = Self.request((connection + round) % 8)
            request.headers.merge(session) { own, _ in own }
            return request.bytes(for: target)
        }
    }

    private static func request(_ number: Int) -> Request {
        func fields(_ value: JSON) -> JSON {
            .object(Dictionary((0..<15).map { _ in ("f\(Names.random(10))", value) }) { first, _ in first })
        }
        switch number {
        case 0: return .post("/classes/Feedback", fields(1))
        case 1:
            let relation: JSON = ["__op": "AddRelation", "objects": [.pointer("Product", "none")]]
            return .post("/users", anonymous.merged(with: fields(relation)))
        case 2: return .post("/classes/C\(Names.random(10))", ["a": 1])
        case 3: return .post("/users", anonymous)
        case 4:
            let id = JSON.string(UUID().uuidString.lowercased())
            return .post("/installations", ["deviceType": "ios", "installationId": id, "channels": ["flood"]])
        case 5:
            let text = JSON.string(String(repeating: "x", count: 60_000))
            return .post("/events/E\(Names.random(6))", ["dimensions": ["source": text]])
        default: return .post("/functions/addToBag", ["productId": .string(Names.objectId()), "quantity": 1])
        }
    }

    private static var anonymous: JSON {
        ["authData": ["anonymous": ["id": .string(UUID().uuidString.lowercased())]]]
    }
}

extension JSON {
    fileprivate func merged(with other: JSON) -> JSON {
        .object((objectValue ?? [:]).merging(other.objectValue ?? [:]) { own, _ in own })
    }
}
