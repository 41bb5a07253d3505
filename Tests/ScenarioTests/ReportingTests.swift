import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Push, analytics and crash: the smallest real thing each of them does.
@Suite struct ReportingTests {
    @Test func eventsAreKeptWithTheirDimensions() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let name = "Tap\(Names.random(6))"
        for index in 0..<3 {
            let event: JSON = [
                "at": ["__type": "Date", "iso": "2024-05-06T07:08:09.123Z"],
                "dimensions": ["screen": "bag", "index": .string("\(index)")],
            ]
            let answer = try await customer.client.call(.POST, "/events/\(name)", event)
            #expect(answer.status == 200 && answer.json == [:], "\(answer.text)")
        }
        #expect(try await ParseClient(suite).call(.POST, "/events/AppOpened", [:]).json == [:])
        #expect(try await customer.client.run("analyticsEvents", ["name": .string(name)]).code == 119)
        let admin = try await Customer.admin(suite)
        let listed = try await admin.run("analyticsEvents", ["name": .string(name), "limit": 2])
        let events = try #require(listed.result.arrayValue, "\(listed.text)")
        #expect(events.map { $0.at("dimensions", "index") } == ["2", "1"])
        #expect(events[0].at("at", "iso") == "2024-05-06T07:08:09.123Z")
        #expect(events[0]["userId"] == .string(customer.userId))
        #expect(try await admin.run("analyticsEvents", ["name": "AppOpened"]).result.arrayValue?.isEmpty == false)
    }

    private static let eventId = "9ec79c33ec9942ab8353589fcb2e04dc"

    /// What a Sentry SDK sends: a header, an event with an exception, and a session that is not kept.
    private static let envelope = """
        {"event_id":"\(eventId)","dsn":"http://key@127.0.0.1/42"}
        {"type":"event","length":LENGTH}
        {"event_id":"\(eventId)","level":"fatal","release":"shop@1.2","exception":{"values":[{"type":"OutOfBag","value":"index 7"}]},"x":"1"}
        {"type":"session"}
        {"sid":"1"}

        """

    @Test func aCrashReportIsKeptAndListed() async throws {
        let suite = try await Suite.shared
        let base = suite.url.replacingOccurrences(of: "/parse", with: "")
        var sdk = ParseClient(suite)
        sdk.url = base
        let event = Self.envelope.split(separator: "\n")[2]
        let text = Self.envelope.replacingOccurrences(of: "LENGTH", with: "\(event.utf8.count)")
        for _ in 0..<2 {
            let answer = try await sdk.send(
                .POST, "/api/42/envelope/", headers: [("Content-Type", "application/x-sentry-envelope")],
                body: Array(text.utf8))
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer["id"] == .string(Self.eventId))
        }
        for malformed in [
            "", "{}", "[]\n", "{}\n{\"type\":\"event\",\"length\":99}\n{}", "{}\n{\"type\":\"event\"}\nno",
        ] {
            let answer = try await sdk.send(.POST, "/api/42/envelope/", body: Array(malformed.utf8))
            let isEmpty = malformed == "{}"  // An envelope without items is one.
            #expect(isEmpty ? answer.status == 200 : answer.code == 107, "\(malformed): \(answer.text)")
        }
        #expect(try await ParseClient(suite).run("crashReports").code == 119)
        let listed = try await Customer.admin(suite).run("crashReports").result.arrayValue ?? []
        #expect(listed.filter { $0["id"] == .string(Self.eventId) }.count == 1)
        let report = listed.first { $0["id"] == .string(Self.eventId) }
        #expect(report?["type"] == "OutOfBag" && report?["message"] == "index 7" && report?["level"] == "fatal")
        #expect(report?["release"] == "shop@1.2" && report?["projectId"] == "42")
    }

    @Test func anInstallationIsOneRowPerDevice() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let id = "ABC-\(Names.random(10))"
        let created = try await client.call(
            .POST, "/installations",
            [
                "deviceType": "ios", "installationId": .string(id),
                "deviceToken": .string(String(repeating: "AB", count: 32)),
            ])
        try #require(created.status == 201, "\(created.text)")
        #expect(
            created.headers.first(name: "Location") == "\(suite.url)/classes/_Installation/\(created.objectId)")
        let again = try await client.call(
            .POST, "/installations",
            ["deviceType": "ios", "installationId": .string(id.lowercased()), "channels": ["news", ""], "badge": 3])
        #expect(again.objectId == created.objectId, "\(again.text)")
        let path = "/installations/\(created.objectId)"
        let row = try await client.get(path)
        #expect(row["installationId"] == .string(id.lowercased()) && row["badge"] == 3)
        #expect(row["deviceToken"] == .string(String(repeating: "ab", count: 32)))

        #expect(
            try await client.call(.PUT, path, ["channels": ["__op": "AddUnique", "objects": ["sale"]]]).status == 200)
        #expect(try await client.get(path)["channels"] == ["news", "", "sale"])
        #expect(try await client.call(.PUT, path, ["installationId": "other"]).code == 136)
        #expect(try await client.call(.PUT, path, ["deviceType": "android"]).code == 136)
        #expect(try await client.call(.PUT, path, ["channels": ["no such"]]).code == 112)
        #expect(try await client.get("/installations").code == 119)
        #expect(try await client.call(.DELETE, path).code == 119)
        #expect(try await ParseClient.master(suite).call(.DELETE, path).status == 200)
    }

    /// The payload of a promotion push names a Promotion that any client can fetch.
    @Test func anybodyReadsAPromotion() async throws {
        let suite = try await Suite.shared
        let created = try await ParseClient.master(suite).create("Promotion", ["content": "Two for one"])
        #expect(try await ParseClient(suite).get("/classes/Promotion/\(created.objectId)")["content"] == "Two for one")
    }
}
