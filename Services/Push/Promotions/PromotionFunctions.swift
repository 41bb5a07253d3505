import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The shop admins' cloud functions for promotions: count the recipients, send, cancel, and report results; and for the
/// list of all pushes.
struct PromotionFunctions: Sendable {
    let host: ServiceHost
    let spreader: PushFanout

    func install(in routes: inout ServiceRoutes) {
        routes.function("sendPromotion") { [self] parameters, request in
            try request.requireAdmin()
            let id = try promotionId(parameters)
            return try await host.commit(request) { transaction in
                let promotion = try transaction.document("Promotion", id, caller: .master)
                let body = try Self.push(of: promotion, id, parameters, now: transaction.now)
                let push = try Pushes.add(
                    try PushDraft(body, now: transaction.now), promotion: id, source: "promotion", in: transaction)
                transaction.afterCommit { [spreader] in spreader.wake() }
                try host.audit.note(
                    .init("sendPromotion", "Promotion", id, after: ["pushId": .string(push)]), by: request,
                    in: transaction)
                return try .result(["pushId": .string(push)])
            }
        }
        routes.function("cancelPromotion") { [self] parameters, request in
            try request.requireAdmin()
            let id = try promotionId(parameters)
            return try await host.commit(request) { transaction in
                var cancelled: Int64 = 0
                for row in try transaction.rows(
                    "SELECT id FROM pushes WHERE promotion = ? AND state != 'ended'", [.text(id)])
                where try Pushes.cancel(row.text("id"), in: transaction) { cancelled += 1 }
                try host.audit.note(
                    .init("cancelPromotion", "Promotion", id, after: ["cancelled": .int(cancelled)]), by: request,
                    in: transaction)
                return try .result(["cancelled": .int(cancelled)])
            }
        }
        routes.function("countAudience") { [host] parameters, request in
            try request.requireAdmin()
            let count = try AudienceCount(PromotionAudience(parameters["audience"]))
            return try .result(await host.store.read(for: request.share) { try count.read(from: $0) })
        }
        routes.function("pushes") { [self] parameters, request in
            try request.requireAdmin()
            let list = try PushList(parameters)
            let (pushes, count) = try await host.store.read(for: request.share) { try list.read(in: $0) }
            let hashes = Set(pushes.compactMap { $0["pushHash"]?.stringValue })
            let opens = await figures(of: hashes, for: request)?["opensByHash"]
            let results = pushes.map { push in
                var push = push
                if let opens { push["opened"] = push["pushHash"]?.stringValue.flatMap { opens[$0] } ?? 0 }
                return push
            }
            return try .result(["results": .array(results), "count": .int(Int64(count))])
        }
        routes.function("promotionReport") { [self] parameters, request in
            try request.requireAdmin()
            let id = try promotionId(parameters)
            var report = try await host.store.read(for: request.share) { try Self.report(id, from: $0) }
            let hashes = (report["pushes"]?.arrayValue ?? []).compactMap { $0["pushHash"]?.stringValue }
            let told = await figures(of: Set(hashes), for: request)
            for (name, counted) in [("opened", "opens"), ("orders", "orders"), ("sales", "sales")] {
                report[name] = told?[counted]
            }
            return try .result(report)
        }
    }

    private func promotionId(_ parameters: JSON) throws(ParseError) -> String {
        guard let id = parameters["promotionId"]?.stringValue, Names.isObjectId(id) else {
            throw ParseError(.validationError, "promotionId is missing.")
        }
        return id
    }

    /// The push of a promotion: values of the call first, then of the promotion, then the defaults (all devices, now).
    private static func push(of promotion: JSON, _ id: String, _ parameters: JSON, now: Timestamp) throws -> JSON {
        guard let content = promotion["content"]?.stringValue, !content.isEmpty else {
            throw ParseError(.validationError, "The promotion has no content.")
        }
        var data: JSON = ["alert": .string(content), "p": .string(id)]
        data["title"] = parameters["title"].flatMap { $0.isNull ? nil : $0 }
        var body: JSON = ["data": data]
        let audience = PromotionAudience(parameters["audience"], of: promotion)
        (body["channels"], body["where"]) = try audience.members()
        if let time = parameters["pushTime"], !time.isNull {
            body["push_time"] = time
        } else if let planned = promotion["schedule"].flatMap(PushMoment.init), planned.earliest > now {
            body["push_time"] = promotion["schedule"]
        }
        return body
    }

    private static func report(_ id: String, from reader: StoreReader) throws -> JSON {
        var totals: [String: Int64] = ["sent": 0, "failed": 0, "count": 0]
        var pushes: [JSON] = []
        for row in try reader.rows(
            "SELECT id FROM pushes WHERE promotion = ? ORDER BY \(Pushes.newestFirst(reader.dialect)) LIMIT ?",
            [.text(id), .int(listMax)])
        {
            guard let status = try reader.documentIfFound(Pushes.statusClass, row.text("id"), caller: .master) else {
                continue
            }
            var push: JSON = try ["pushId": .string(row.text("id"))]
            for name in ["status", "pushTime", "pushHash", "errorMessage", "query"] { push[name] = status[name] }
            for (name, field) in [("sent", "numSent"), ("failed", "numFailed"), ("count", "count")] {
                push[name] = status[field]
                totals[name, default: 0] += status[field]?.intValue ?? 0
            }
            pushes.append(push)
        }
        var report = JSON.object(totals.mapValues(JSON.int))
        report["promotionId"] = .string(id)
        report["pushes"] = .array(pushes)
        report["failures"] = .array(
            try PushProgress.failures(ofPromotion: id, latest: listMax, from: reader).map {
                ["reason": .string($0.reason), "count": .int($0.count)]
            })
        return report
    }

    /// Analytics' counts of app opens by these pushes and of the orders that followed; nil when analytics does not
    /// answer.
    private func figures(of hashes: Set<String>, for request: ServiceRequest) async -> JSON? {
        guard !hashes.isEmpty else { return ["opens": 0, "orders": 0, "sales": []] }
        do {
            let parameters: JSON = ["pushHash": .array(hashes.sorted().map(JSON.string))]
            var question = try BusRequest(
                ObjectCalls(of: "analytics").function, .with { $0.name = "pushOpens" }, for: request,
                timeout: .seconds(3))
            question.documents = [parameters.serialized]
            question.principal = .satchel
            return try await host.bus.call(question).documents.first.map { try JSON(parsing: $0) }
        } catch {
            return nil
        }
    }

    /// Maximum pushes of a promotion in the list: the newest.
    private static let listMax: Int64 = 100
}
