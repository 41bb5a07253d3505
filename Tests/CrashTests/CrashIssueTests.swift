import CrashService
import ParseProtocol
import ServiceSupport
import Testing

/// Limits on stored crash data; a deleted account leaves no trace in it.
@Suite struct CrashIssueTests {
    private let sandbox: SandboxStore

    init() async throws { sandbox = try await SandboxStore(crashPlan) }

    private func add(_ id: Int, type: String = "E", release: String = "shop@1.0.0", user: JSON = .null) async throws {
        let digits = String(id, radix: 16)
        let eventId = String(repeating: "0", count: 32 - digits.count) + digits
        let event = StoredEvent(
            [
                "exception": ["values": [["type": .string(type), "value": "of ann@example.com"]]],
                "release": .string(release), "user": user,
            ], eventId: eventId)
        try await sandbox.store.write { try IssueLog.add(event, projectId: 1, in: $0) }
    }

    @Test func theNewestEventsOfAnIssueAreKeptAndAllAreCounted() async throws {
        for id in 0..<50 { try await add(id) }
        try await add(49)
        #expect(try await sandbox.count("SELECT count FROM issues") == 50)
        #expect(try await sandbox.count("SELECT count(*) FROM crashEvents") == EventStore.perIssueMax)
        #expect(try await sandbox.count("SELECT min(id) FROM crashEvents") == 21)
        #expect(
            try await sandbox.count("SELECT total - (SELECT sum(bytes) FROM crashEvents) FROM crashBytes") == 0)
        #expect(try await sandbox.count("SELECT total FROM crashBytes") > 0)
    }

    @Test func releasesAndUsersAreCountedPerIssue() async throws {
        try await add(1, user: ["id": "u1"])
        try await add(2, release: "shop@1.1.0", user: ["id": "u1"])
        try await add(3, release: "shop@1.1.0", user: ["email": "b@example.com"])
        try await add(4, type: "Other", user: ["id": 7])
        #expect(try await sandbox.count("SELECT users FROM issues WHERE title LIKE 'E:%'") == 2)
        #expect(
            try await sandbox.count("SELECT count FROM issueReleases WHERE release = 'shop@1.1.0' AND issueId = 1") == 2
        )
        #expect(try await sandbox.count("SELECT count(*) FROM issues") == 2)
    }

    @Test(.enabled(if: testsRunOnSQLite)) func aDeletedAccountIsTakenOutOfItsEvents() async throws {
        let user: JSON = ["id": "user1", "email": "ann@example.com", "ip_address": "10.1.2.3"]
        try await add(1, user: user)
        try await add(2, user: ["id": "user2"])
        try await sandbox.store.write {
            try EventStore.forget("user1", in: $0)
            try IssueLog.forget("user1", in: $0)
        }
        let text = "SELECT count(*) FROM crashEvents WHERE id = 1 AND instr(CAST(event AS TEXT) || message"
        for trace in ["user1", "ann@example.com", "10.1.2.3"] {
            #expect(try await sandbox.count("\(text), '\(trace)')") == 0, "\(trace)")
        }
        #expect(try await sandbox.count("\(text), '[Filtered]')") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM crashEvents WHERE userId = 'user1'") == 0)
        #expect(try await sandbox.count("SELECT count(*) FROM crashEvents WHERE userId = 'user2'") == 1)
        #expect(try await sandbox.count("SELECT users FROM issues") == 2)
        #expect(try await sandbox.count("SELECT count(*) FROM issueUsers") == 1)
    }

    @Test func anIssueLosesTheNameOfADeletedAccountFromAllTextsOfItsEvent() async throws {
        let event = StoredEvent(
            [
                "exception": ["values": [["type": "Failed for ann@example.com", "value": "again"]]],
                "transaction": "profile of ann@example.com", "user": ["id": "user1", "email": "ann@example.com"],
            ], eventId: String(repeating: "a", count: 32))
        try await sandbox.store.write {
            try IssueLog.add(event, projectId: 1, in: $0)
            try EventStore.forget("user1", in: $0)
        }
        #expect(
            try await sandbox.count(
                "SELECT count(*) FROM issues WHERE title = '[Filtered]: again' AND culprit = '[Filtered]'") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM crashEvents WHERE type = '[Filtered]'") == 1)
    }

    @Test func aReportThatArrivesAfterTheDeletionNamesNobody() async throws {
        try await add(1, user: ["id": "user2"])
        try await sandbox.store.write { try AccountDeletion.forget("user1", in: $0) }
        for id in 2...3 { try await add(id, user: ["id": "user1", "email": "ann@example.com"]) }
        #expect(try await sandbox.count("SELECT count FROM issues WHERE title = 'E: [Filtered]'") == 3)
        #expect(try await sandbox.count("SELECT users FROM issues") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM issueUsers") == 1)
        #expect(
            try await sandbox.count(
                "SELECT count(*) FROM crashEvents WHERE userId IS NULL AND message = '[Filtered]'") == 2)
        guard testsRunOnSQLite else { return }
        for trace in ["user1", "ann@example.com"] {
            #expect(
                try await sandbox.count(
                    "SELECT count(*) FROM crashEvents WHERE id > 1 AND instr(CAST(event AS TEXT), '\(trace)')") == 0)
        }
    }

    /// A deletion finds the texts of stored events only.
    @Test func anIssueHasTheTextsOfItsNewestEvent() async throws {
        for id in 0...EventStore.perIssueMax {
            let address = "user\(id)@example.com"
            let event = StoredEvent(
                [
                    "message": .string("mail to \(address)"), "transaction": .string("profile of \(address)"),
                    "fingerprint": ["mail"], "user": ["id": .string("id-\(id)"), "email": .string(address)],
                ], eventId: "event \(id)")
            try await sandbox.store.write { try IssueLog.add(event, projectId: 1, in: $0) }
        }
        let newest = "user\(EventStore.perIssueMax)@example.com"
        #expect(
            try await sandbox.count(
                "SELECT count FROM issues WHERE title = 'mail to \(newest)' AND culprit = 'profile of \(newest)'")
                == EventStore.perIssueMax + 1)
        try await sandbox.store.write { try AccountDeletion.forget("id-\(EventStore.perIssueMax)", in: $0) }
        #expect(
            try await sandbox.count(
                "SELECT count(*) FROM issues WHERE title = '[Filtered]' AND culprit = '[Filtered]'") == 1)
    }

    @Test func aReportLosesTheCharacterThatPostgreSQLCannotStore() async throws {
        try await add(1, type: "E\0F", release: "shop@1\0.0", user: ["id": "u\0v"])
        #expect(
            try await sandbox.count(
                "SELECT count(*) FROM crashEvents WHERE type = 'EF' AND release = 'shop@1.0' AND userId = 'uv'") == 1)
    }

    @Test func aReleasePastTheBoundReopensAResolvedIssueOnlyOnce() async throws {
        try await sandbox.store.write { transaction in
            for seen in 1...IssueLog.releasesMax {
                try transaction.execute(
                    "INSERT INTO crashReleases(projectId, release, firstSeen) VALUES (1, ?, ?)",
                    [.text("r\(seen)"), .int(seen)])
            }
        }
        try await add(1, release: "3f2a9c1b")
        #expect(try await sandbox.count("SELECT count(*) FROM crashReleases") == IssueLog.releasesMax)
        #expect(try await sandbox.count("SELECT count(*) FROM crashReleases WHERE release = 'r1'") == 0)
        // The release appeared before the issue was resolved.
        try await sandbox.store.write { transaction in
            try transaction.execute("UPDATE crashReleases SET firstSeen = firstSeen - 10 WHERE release = '3f2a9c1b'")
            try transaction.execute(
                "UPDATE issues SET status = 'resolved', resolvedIn = '0a1b2c3d', resolvedAt = ?",
                [.int(transaction.now.milliseconds - 5)])
        }
        try await add(2, release: "3f2a9c1b")
        #expect(try await sandbox.count("SELECT count(*) FROM issues WHERE status = 'resolved'") == 1)
    }
}
