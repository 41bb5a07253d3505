import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Sign-in remains available to all clients during attacks.
@Suite(.serialized) struct SignInShareTests {
    private static let password = "a-right-password"

    /// T4a: 40 attackers, half of them at one address and half at separate addresses, with the default password work.
    /// 95 of 100 correct sign-ins succeed within 2 s, from known and from new devices. If a sign-in takes longer than
    /// 0.4 s on this machine without an attack, the bound is five times that duration.
    @Test func fortyAttackersBlockNoSignIn() async throws {
        let settings = PlacedClient.settings.merging(["SATCHEL_PASSWORD_WORK": "5"]) { $1 }
        try await Suite.with(settings: settings) { suite in
            let names = (0..<8).map { "honest\($0)\(Names.random(6))" }
            for (number, name) in names.enumerated() {
                let home = PlacedClient(suite, at: "203.0.113.\(number)", installationId: "phone-\(name)")
                _ = try await home.signUp(name, Self.password)
            }
            func timeAlone() async throws -> Double {
                var times: [Double] = []
                for name in names.prefix(3) {
                    let meter = StallMeter()
                    let home = PlacedClient(suite, at: "203.0.113.9", installationId: "phone-\(name)")
                    #expect(try await home.signIn(name, Self.password).status == 200)
                    times.append(meter.elapsed / .seconds(1))
                }
                return times.sorted()[1]
            }
            let before = try await timeAlone()
            let end = ContinuousClock.now + .seconds(15)
            let isOver = Flag()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<40 {
                    let place = number < 20 ? "198.51.100.1" : "198.51.100.\(number)"
                    let attacker = PlacedClient(suite, at: place)
                    group.addTask {
                        var tries = 0
                        while !isOver.isRaised {
                            let name = tries % 2 == 0 ? names[tries / 2 % 8] : Names.random(12)
                            _ = try await attacker.signIn(name, "wrong")
                            tries += 1
                            try await Task.sleep(for: .milliseconds(10))
                        }
                        return tries
                    }
                }
                try await Task.sleep(for: .seconds(1))
                var (times, failures) = ([Double](), [String]())
                var number = 0
                // On a slow machine 20 sign-ins take longer than the minimum time.
                while ContinuousClock.now < end || times.count < 20 {
                    let name = names[number % 8]
                    // Alternates between the phone in another network and a device that is new to the account.
                    let device =
                        number % 2 == 0
                        ? PlacedClient(suite, at: "192.0.2.\(number)", installationId: "phone-\(name)")
                        : PlacedClient(suite, at: "192.0.2.\(number)", installationId: Names.random(20))
                    let meter = StallMeter()
                    let answer = try await device.signIn(name, Self.password)
                    times.append(meter.elapsed / .seconds(1))
                    // An attack may lock the account for new devices, which this test does not measure.
                    let isRight = answer.status == 200 || (number % 2 == 1 && answer.text.contains("locked"))
                    if !isRight { failures.append("\(answer.status) \(answer.text)") }
                    number += 1
                }
                isOver.raise()
                let tries = try await group.reduce(0, +)
                // Other tests run concurrently, so the bound is wider. scripts/attack sign-in measures the promised
                // 2 s. The machine may have become slower since the beginning.
                let after = try await timeAlone()
                let limit = max(4, 5 * before, 5 * after)
                let sorted = times.sorted()
                let late = times.count { $0 > limit }
                print(
                    """
                    Sign-ins beside 40 attackers: \(tries) wrong tries, \(times.count) right ones, \(late) over \
                    \(limit) s,
                    """,
                    "median \(sorted[sorted.count / 2]) s, longest \(sorted.last ?? 0) s, \(failures.count) refused")
                #expect(failures.isEmpty, "\(failures.count) of \(times.count) were refused: \(failures.first ?? "")")
                // 1 in 20; at least one.
                #expect(late <= max(1, times.count / 20), "\(sorted)")
            }
        }
    }

    /// T4b: formerly, 30 wrong passwords blocked all sign-ins from an address, including the first start of every app.
    @Test func neighboursMistakesCloseNothing() async throws {
        try await Suite.with(settings: PlacedClient.settings) { suite in
            let place = "203.0.113.7"
            let phone = PlacedClient(suite, at: place, installationId: "phone")
            _ = try await phone.signUp("ann", Self.password)
            let site = PlacedClient(suite, at: place)
            _ = try await site.signUp("ben", Self.password)
            let guesser = PlacedClient(suite, at: place)
            for _ in 0..<32 { _ = try await guesser.signIn(Names.random(12), "wrong") }
            let body: JSON = ["authData": ["anonymous": ["id": .string(UUID().uuidString)]]]
            let started = try await guesser.call(.POST, "/users", body)
            #expect(started.status == 201, "An app's first start: \(started.text)")
            #expect(try await guesser.call(.POST, "/users", body).status == 200)
            for (client, name) in [(phone, "ann"), (site, "ben")] {
                let answer = try await client.signIn(name, Self.password)
                #expect(answer.status == 200, "\(name): \(answer.text)")
            }
            let late = try await guesser.signIn(Names.random(12), "wrong")
            #expect(late.status == 429, "\(late.text)")
            #expect(late.code == 155, "\(late.text)")
            #expect(late.headers.first(name: "Retry-After").flatMap(Int.init).map { (1...10).contains($0) } == true)
        }
    }

    /// T4c: formerly, 5 wrong passwords locked the account for all clients, including its owner.
    @Test func wrongTriesSlowDownTheGuesserAndNotTheOwner() async throws {
        try await Suite.with(settings: PlacedClient.settings) { suite in
            let name = "\(Names.random(8).lowercased())@customers.example"
            let phone = PlacedClient(suite, at: "203.0.113.1", installationId: "phone")
            let made = try await phone.call(
                .POST, "/users",
                ["username": .string(name), "email": .string(name), "password": .string(Self.password)])
            try #require(made.status == 201, "\(made.text)")
            func guess(from address: String, right: String = Self.password) async throws {
                for _ in 0..<5 {
                    #expect(try await PlacedClient(suite, at: address).signIn(name, "wrong").code == 101)
                }
                let locked = try await PlacedClient(suite, at: address).signIn(name, right)
                #expect(locked.code == 101, "\(locked.text)")
                #expect(locked.text.contains("locked"), "\(locked.text)")
            }
            try await guess(from: "198.51.100.1")
            var tablet = PlacedClient(suite, at: "192.0.2.1", installationId: "tablet")
            #expect(try await tablet.signIn(name, Self.password).status == 200, "One guesser locks one place.")
            for last in 2...4 { try await guess(from: "198.51.100.\(last)") }
            // Guesses from many addresses: known devices of the account continue, new devices need more than the
            // password.
            for (device, place) in [("phone", "192.0.2.9"), ("tablet", "192.0.2.8")] {
                let known = PlacedClient(suite, at: place, installationId: device)
                #expect(try await known.signIn(name, Self.password).status == 200, "\(device)")
            }
            tablet = PlacedClient(suite, at: "192.0.2.200", installationId: "laptop")
            #expect(try await tablet.signIn(name, Self.password).text.contains("locked"))
            let home = PlacedClient(suite, at: "203.0.113.1")
            #expect(try await home.call(.POST, "/requestPasswordReset", ["email": .string(name)]).status == 200)
            let link = try await MailedLink.newest("request_password_reset", to: name, in: suite)
            let form = ParseClient.queryText([
                "token": .string(link.token), "new_password": "another-one", "repeated_password": "another-one",
            ])
            let chosen = try await ParseClient(suite).send(
                .POST, "/apps/choose_password",
                headers: [("Content-Type", "application/x-www-form-urlencoded"), ("X-Forwarded-For", "192.0.2.200")],
                body: Array(form.utf8))
            #expect(chosen.status == 200, "\(chosen.text)")
            for last in 5...8 { try await guess(from: "198.51.100.\(last)", right: "another-one") }
            #expect(try await tablet.signIn(name, "another-one").status == 200, "The mailed link is the way out.")
        }
    }

    /// A code of the second factor unlocks the account for its owner's new device while attackers guess from many
    /// addresses.
    @Test func theSecondFactorIsAWayOut() async throws {
        let settings = PlacedClient.settings.merging(["SATCHEL_MFA": "totp"]) { $1 }
        try await Suite.with(settings: settings) { suite in
            let name = Names.random(10)
            let phone = PlacedClient(suite, at: "203.0.113.1", installationId: "phone")
            let app = Authenticator()
            let made = try await phone.call(
                .POST, "/users",
                [
                    "username": .string(name), "password": .string(Self.password),
                    "authData": ["mfa": ["secret": .string(app.secret), "token": .string(try await app.next())]],
                ])
            try #require(made.status == 201, "\(made.text)")
            for last in 1...4 {
                for _ in 0..<5 { _ = try await PlacedClient(suite, at: "198.51.100.\(last)").signIn(name, "wrong") }
            }
            let laptop = PlacedClient(suite, at: "192.0.2.1", installationId: "laptop")
            #expect(try await laptop.signIn(name, Self.password).text.contains("locked"))
            func signIn(_ code: String) async throws -> ParseClient.Answer {
                try await laptop.call(
                    .POST, "/login",
                    [
                        "username": .string(name), "password": .string(Self.password),
                        "authData": ["mfa": ["token": .string(code)]],
                    ])
            }
            #expect(try await signIn(try await app.stale()).text.contains("locked"))
            let right = try await signIn(try await app.next())
            #expect(right.status == 200, "\(right.text)")
        }
    }

    /// T4d: formerly, a guesser that was refused without a hash retried at once, thousands of times a second.
    @Test func refusalsWithoutAHashAreDelayed() async throws {
        try await Suite.with(settings: PlacedClient.settings) { suite in
            let name = Names.random(10)
            let phone = PlacedClient(suite, at: "203.0.113.1", installationId: "phone")
            _ = try await phone.signUp(name, Self.password)
            let guesser = PlacedClient(suite, at: "198.51.100.1")
            for _ in 0..<5 { #expect(try await guesser.signIn(name, "wrong").code == 101) }
            var slow = 0
            for _ in 0..<60 where slow < 2 {
                let start = ContinuousClock.now
                let answer = try await guesser.signIn(name, "wrong")
                #expect(answer.code == 101, "\(answer.text)")
                #expect(answer.text.contains("locked"), "\(answer.text)")
                #expect(answer.headers.first(name: "Retry-After").flatMap(Int.init).map { $0 >= 60 } == true)
                if ContinuousClock.now - start >= .seconds(1) { slow += 1 }
            }
            #expect(slow == 2, "Past its share a network waits for each refusal.")
            #expect(try await phone.signIn(name, Self.password).status == 200)
        }
    }

    /// T4d: a batch that waited for each of its refusals would hold its request in memory for minutes.
    @Test func aBatchDoesNotWaitForItsRefusals() async throws {
        try await Suite.with(settings: PlacedClient.settings) { suite in
            let name = Names.random(10)
            _ = try await PlacedClient(suite, at: "203.0.113.1").signUp(name, Self.password)
            let guesser = PlacedClient(suite, at: "198.51.100.1")
            for _ in 0..<5 { #expect(try await guesser.signIn(name, "wrong").code == 101) }
            let item: JSON = [
                "method": "POST", "path": "/parse/login", "body": ["username": .string(name), "password": "wrong"],
            ]
            let meter = StallMeter()
            let answer = try await guesser.call(
                .POST, "/batch", ["requests": .array(Array(repeating: item, count: 50))])
            let codes = (answer.json.arrayValue ?? []).map { $0["error"]?["code"]?.intValue ?? 0 }
            #expect(codes.count == 50)
            #expect(codes.first == 101)
            #expect(codes.last == 155, "\(codes)")
            #expect(meter.elapsed < .seconds(20), "Held back one by one they would take 40 s.")
        }
    }

    /// T2h: formerly, a batch computed a hash for each item. The budget here is less than one hash needs.
    @Test func aBatchMakesNoMoreHashesThanItsBudgetPaysFor() async throws {
        let settings = PlacedClient.settings.merging([
            "SATCHEL_PASSWORD_WORK": "5", "SATCHEL_REQUEST_CPU_MILLISECONDS": "100",
        ]) { $1 }
        try await Suite.with(settings: settings) { suite in
            let name = Names.random(10)
            var phone = PlacedClient(suite, at: "203.0.113.1", installationId: "phone")
            let id = try await phone.signUp(name, Self.password)
            let signedIn = try await phone.signIn(name, Self.password)
            #expect(signedIn.status == 200, "One hash is always paid for: \(signedIn.text)")
            phone.client.sessionToken = signedIn["sessionToken"]?.stringValue
            func item(_ method: String, _ path: String, _ body: JSON) -> JSON {
                ["method": .string(method), "path": .string("/parse\(path)"), "body": body]
            }
            func codes(_ client: PlacedClient, _ items: [JSON]) async throws -> [Int64] {
                let answer = try await client.call(.POST, "/batch", ["requests": .array(items)])
                #expect(answer.status == 200, "\(answer.text)")
                return (answer.json.arrayValue ?? []).map { $0["error"]?["code"]?.intValue ?? 0 }
            }
            let stranger = PlacedClient(suite, at: "198.51.100.1")
            for path in ["/login", "/users"] {
                let found = try await codes(
                    stranger,
                    (0..<50).map { _ in
                        item(
                            "POST", path,
                            ["username": .string(Names.random(12)), "password": .string(Names.random(12))])
                    })
                #expect(found.count == 50)
                #expect(found.first == (path == "/users" ? 0 : 101))
                #expect(found.count { $0 == 124 } >= 47, "\(path): \(found)")
            }
            let changes = (0..<20).map { _ in item("PUT", "/users/\(id)", ["password": .string(Names.random(12))]) }
            let changed = try await codes(phone, changes)
            #expect(changed.count == 20)
            #expect(changed.count { $0 == 124 } >= 17, "\(changed)")
            let master = try await ParseClient.master(suite).call(
                .POST, "/batch", ["requests": .array(Array(changes.prefix(3)))])
            #expect(master.json.arrayValue?.count { $0["success"] != nil } == 3, "The operator's are not refused.")
        }
    }
}
