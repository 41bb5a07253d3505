import ParseProtocol
import TestSupport
import Testing

/// The shop's messages to its customers: promotions that admins send, and news about orders.
@Suite struct PromotionTests {
    private func promotion(_ admin: ParseClient, _ fields: JSON = [:]) async throws -> (id: String, content: String) {
        let content = "Two for one \(Names.random(6))"
        var object: JSON = ["content": .string(content)]
        for (name, value) in fields.objectValue ?? [:] { object[name] = value }
        let made = try await admin.create("Promotion", object)
        guard made.status == 201 else { throw Unexpected("POST Promotion", made) }
        return (made.objectId, content)
    }

    @Test func anAdminSendsAPromotionAndSeesWhatBecameOfIt() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let devices = try await Devices.register(suite, tokens: (0..<3).map { _ in Names.random(20) })
        let audience: JSON = ["channels": [.string(devices.channel)]]
        let (id, content) = try await promotion(admin, ["audience": audience, "discountCode": "SAVE10"])
        let sent = try await admin.run("sendPromotion", ["promotionId": .string(id), "title": "News"])
        let pushId = sent.result.text("pushId")
        try #require(!pushId.isEmpty, "\(sent.text)")
        var report = JSON.null
        try await eventually("all have it") {
            report = try await admin.run("promotionReport", ["promotionId": .string(id)]).result
            return report.at("pushes", 0, "status") == "succeeded"
        }
        #expect(report["sent"] == 3)
        #expect(report["failed"] == 0)
        #expect(report["count"] == 3)
        #expect(report.at("pushes", 0, "pushHash")?.stringValue?.utf8.count == 32)
        #expect(suite.devices(of: pushId) == Set(devices.objectIds.keys))
        let data = suite.notifications().first { $0["pushId"] == .string(pushId) }?["data"]
        #expect(data == ["alert": .string(content), "p": .string(id), "title": "News"])
        // The app opens the object that `p` names. The audience is visible only to the shop.
        let opened = try await ParseClient(suite).get("/classes/Promotion/\(id)")
        #expect(opened["content"] == .string(content))
        #expect(opened["discountCode"] == "SAVE10")
        #expect(opened["audience"] == nil)
        #expect(try await admin.get("/classes/Promotion/\(id)")["audience"] == audience)
        // The app reports which push opened it.
        let hash = report.at("pushes", 0, "pushHash") ?? .null
        let event = try await ParseClient(suite).call(.POST, "/events/AppOpened", ["push_hash": hash])
        #expect(event.status == 200, "\(event.text)")
        try await eventually("the opening is counted") {
            try await admin.run("promotionReport", ["promotionId": .string(id)]).result["opened"] == 1
        }
        let other: JSON = ["promotionId": .string(id), "audience": ["where": ["channels": "nobodyIsHere"]]]
        #expect(try await admin.run("sendPromotion", other).status == 200)
    }

    /// Lists show it instead of the image, which may have megabytes.
    @Test(.timeLimit(.minutes(5))) func eachImageGetsAThumbnail() async throws {
        let admin = try await Customer.admin(try await Suite.shared)
        let images = try TestImages()
        func upload(_ name: String, _ content: [UInt8]) async throws -> JSON {
            let upload = try await admin.upload(
                content, as: name, type: name.hasSuffix(".txt") ? "text/plain" : "image/jpeg")
            guard upload.status == 201 else { throw Unexpected("POST files", upload) }
            return .file(upload.json.text("name"))
        }
        let first = try await upload("a.jpg", try await images.make("a.jpg", width: 1200, height: 600))
        let (id, _) = try await promotion(admin, ["image": first])
        let path = "/classes/Promotion/\(id)"
        func thumbnail() async throws -> JSON? { try await admin.get(path)["thumbnail"] }
        var name: JSON?
        try await eventually("the promotion has a thumbnail") {
            name = try await thumbnail()?["name"]
            return name != nil
        }
        let small = try await admin.download(admin.path(of: name?.stringValue ?? "")).body
        #expect(await images.field("width", of: small) == "408")
        #expect(try await admin.get(path)["image"]?["name"] == first["name"])
        // The same image keeps its thumbnail; another image gets another; a file that is no image gets none.
        _ = try await admin.call(.PUT, path, ["image": first])
        #expect(try await thumbnail()?["name"] == name)
        let second = try await upload("b.jpg", try await images.make("b.jpg", width: 500, height: 500))
        _ = try await admin.call(.PUT, path, ["image": second])
        try await eventually("the new image has a thumbnail") {
            let other = try await thumbnail()?["name"]
            return other != nil && other != name
        }
        let text = try await upload("c.txt", Array("no photo".utf8))
        _ = try await admin.call(.PUT, path, ["image": text])
        try await eventually("the file is its own thumbnail") { try await thumbnail()?["name"] == text["name"] }
        _ = try await admin.call(.PUT, path, ["image": ["__op": "Delete"]])
        #expect(try await thumbnail() == nil)
    }

    /// The page of all pushes.
    @Test func everyPushIsListedWithItsResults() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let from = Timestamp.now.advanced(by: .seconds(-60)).wire
        let devices = try await Devices.register(suite, tokens: [Names.random(20)])
        let (id, content) = try await promotion(admin, ["audience": ["channels": [.string(devices.channel)]]])
        let pushId = try await admin.run("sendPromotion", ["promotionId": .string(id)]).result.text("pushId")
        let later = Timestamp.now.advanced(by: .seconds(3600)).wire
        let planned = try await admin.run("sendPromotion", ["promotionId": .string(id), "pushTime": later])
        let plannedId = planned.result.text("pushId")
        func listed(_ id: String, _ parameters: JSON = [:]) async throws -> JSON? {
            var wanted: JSON = ["from": from, "limit": 100]
            for (name, value) in parameters.objectValue ?? [:] { wanted[name] = value }
            let answer = try await admin.run("pushes", wanted)
            guard answer.status == 200 else { throw Unexpected("pushes", answer) }
            #expect((answer.result["count"]?.intValue ?? 0) >= Int64(answer.result["results"]?.arrayValue?.count ?? 0))
            return answer.result["results"]?.arrayValue?.first { $0["pushId"] == .string(id) }
        }
        var push: JSON?
        try await eventually("the push is sent") {
            push = try await listed(pushId, ["status": "succeeded"])
            return push != nil
        }
        #expect(push?["sent"] == 1)
        #expect(push?["failed"] == 0)
        #expect(push?["count"] == 1)
        #expect(push?["text"] == .string(content))
        #expect(push?["promotionId"] == .string(id))
        #expect(push?["opened"] == 0)
        let hash = push?["pushHash"] ?? .null
        _ = try await ParseClient(suite).call(.POST, "/events/AppOpened", ["push_hash": hash])
        try await eventually("the opening is counted") { try await listed(pushId)?["opened"] == 1 }
        #expect(try await listed(plannedId, ["status": "scheduled"]) != nil)
        _ = try await admin.run("cancelPromotion", ["promotionId": .string(id)])
        #expect(try await listed(plannedId, ["status": "cancelled"])?["errorMessage"] == "Cancelled")
        #expect(try await listed(plannedId, ["status": "failed"]) == nil)
        let one = try await admin.run("pushes", ["limit": 1, "from": from])
        #expect(one.result["results"]?.arrayValue?.count == 1)
        #expect((one.result["count"]?.intValue ?? 0) >= 2)
        #expect(try await admin.run("pushes", ["status": "lost"]).code == 142)
        #expect(try await admin.run("pushes", ["from": "yesterday"]).code == 142)
    }

    @Test func aPlannedPromotionIsCancelled() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let devices = try await Devices.register(suite, tokens: [Names.random(20)])
        let planned = Timestamp.now.advanced(by: .seconds(3600))
        let (id, _) = try await promotion(
            admin, ["audience": ["where": ["channels": .string(devices.channel)]], "schedule": planned.wire])
        let pushId = try await admin.run("sendPromotion", ["promotionId": .string(id)]).result.text("pushId")
        let report = try await admin.run("promotionReport", ["promotionId": .string(id)]).result
        #expect(report.at("pushes", 0, "status") == "scheduled")
        #expect(report.at("pushes", 0, "pushTime") == .string(planned.iso))
        #expect(try await admin.run("cancelPromotion", ["promotionId": .string(id)]).result == ["cancelled": 1])
        #expect(try await admin.run("cancelPromotion", ["promotionId": .string(id)]).result == ["cancelled": 0])
        let status = try await ParseClient.master(suite).get("/classes/_PushStatus/\(pushId)")
        #expect(status["status"] == "failed")
        #expect(status["errorMessage"] == "Cancelled")
        #expect(suite.devices(of: pushId).isEmpty)
    }

    /// An order counts for the push that its customer tapped, but not for another customer's tap. Refunds are
    /// subtracted.
    @Test func theOrdersThatFollowedAPushAreInTheReport() async throws {
        let suite = try await Suite.shared
        let promotion = try await SentPromotion.send(suite, content: "Two for one \(Names.random(6))")
        let report = try await promotion.report()
        #expect(report["orders"] == 0)
        #expect(report["sales"] == [])
        let shelf = try await Shelf.fill(suite, names: ["Lure \(Names.random(6))"])
        let (ada, ben) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        // One order before the tap, and one of a customer who did not tap.
        _ = try await ada.order(shelf.productIds[0])
        _ = try await ben.order(shelf.productIds[0])
        try await ada.open(by: promotion.pushHash)
        let followed = try await ada.order(shelf.productIds[0])
        let users = "('\(ada.userId)', '\(ben.userId)')"
        try await eventually("analytics knows all orders") {
            let rows = try await suite.rows("analytics", "SELECT count(*) FROM sales WHERE userId IN \(users)")
            return rows.first?.at(0) == 3
        }
        func figures(refunded: Int64) -> JSON {
            [
                [
                    "currency": "usd", "orders": 1, "cancelled": 0, "grossMinorUnits": 700,
                    "refundedMinorUnits": .int(refunded), "netMinorUnits": .int(700 - refunded),
                ]
            ]
        }
        let counted = try await promotion.report()
        #expect(counted["opened"] == 1)
        #expect(counted["orders"] == 1)
        #expect(counted["sales"] == figures(refunded: 0), "\(counted.serializedText)")
        let admin = try await Customer.admin(suite)
        let refund: JSON = ["orderId": .string(followed), "amount": 300, "idempotencyKey": .string(Names.random(12))]
        #expect(try await admin.run("refundOrder", refund).status == 200)
        try await eventually("the refund is taken off") {
            try await promotion.report()["sales"] == figures(refunded: 300)
        }
        // Developers query analytics directly, about one push or several.
        for hashes in [.string(promotion.pushHash), [.string(promotion.pushHash), "none"]] as [JSON] {
            let told = try await admin.run("pushOpens", ["pushHash": hashes]).result
            #expect(told["pushHash"] == hashes)
            #expect(told["opens"] == 1)
            #expect(told["sales"] == figures(refunded: 300))
        }
    }

    @Test func failuresAreCountedByReason() async throws {
        let promotion = try await SentPromotion.send(
            try await Suite.shared, content: "Two for one \(Names.random(6))")
        let sent = try await promotion.report()
        #expect(sent["failures"] == [])
        try await promotion.sendAndStop()
        let report = try await promotion.report()
        #expect(report["failures"] == [["reason": "Cancelled", "count": 2]], "\(report.serializedText)")
        #expect(report["sent"] == 2)
    }

    @Test func onlyAdminsMay() async throws {
        let suite = try await Suite.shared
        let (id, _) = try await promotion(try await Customer.admin(suite))
        for client in [ParseClient(suite), try await Customer.signUp(suite).client] {
            for function in ["sendPromotion", "cancelPromotion", "promotionReport"] {
                #expect(try await client.run(function, ["promotionId": .string(id)]).code == 119)
            }
        }
        let admin = try await Customer.admin(suite)
        for (parameters, code) in [
            ([:], 142), (["promotionId": ["$ne": ""]], 142), (["promotionId": "nobody1234"], 101),
            (["promotionId": .string(id), "audience": "some"], 142),
            (["promotionId": .string(id), "audience": [:]], 142),
            (["promotionId": .string(id), "pushTime": "soon"], 115),
        ] as [(JSON, Int)] {
            #expect(try await admin.run("sendPromotion", parameters).code == code, "\(parameters)")
        }
    }

    @Test func theCustomersDevicesHearOfTheOrder() async throws {
        let suite = try await Suite.shared
        let (ada, ben) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        for customer in [ada, ben] {
            _ = try await customer.client.call(
                .POST, "/installations",
                [
                    "deviceType": "ios", "deviceToken": .string("order-\(customer.userId)"), "user": customer.pointer,
                ])
        }
        let shelf = try await Shelf.fill(suite, names: ["Serum"])
        _ = try await ada.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let receipt = try await ada.client.run(
            "checkout",
            ["tokenId": "tok_visa", "shippingAddress": Customer.address, "idempotencyKey": .string(Names.random(12))])
        let number = try #require(receipt.result["orderNo"]?.intValue, "\(receipt.text)")
        try await eventually("her device hears of it") {
            suite.notifications().contains { $0["deviceToken"] == .string("order-\(ada.userId)") }
        }
        let told = suite.notifications().filter { $0.text("deviceToken").hasPrefix("order-") }
        let mine = told.filter { $0["deviceToken"] == .string("order-\(ada.userId)") }
        #expect(mine.count == 1)
        #expect(mine.first?.at("data", "alert") == .string("Thank you! We have your order \(number)."))
        #expect(mine.first?.at("data", "orderId")?.stringValue?.isEmpty == false)
        #expect(!told.contains { $0["deviceToken"] == .string("order-\(ben.userId)") })

        let orderId = mine.first?.at("data", "orderId") ?? .null
        let shipped = try await Customer.admin(suite).run("shipOrder", ["orderId": orderId])
        #expect(shipped.status == 200, "\(shipped.text)")
        try await eventually("her device hears that it was shipped") {
            suite.notifications().contains { $0.at("data", "alert") == .string("Order \(number) is on its way.") }
        }
    }

    @Test func devicesOfADeletedAccountHaveNoOwner() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let made = try await customer.client.call(
            .POST, "/installations",
            ["deviceType": "ios", "deviceToken": .string("del-\(customer.userId)"), "user": customer.pointer])
        let master = ParseClient.master(suite)
        #expect(try await master.call(.DELETE, "/users/\(customer.userId)").status == 200)
        try await eventually("the device is nobody's") {
            let device = try await master.get("/installations/\(made.objectId)")
            return device.status == 200 && device["user"] == nil
        }
    }
}
