import ParseProtocol
import Testing
import UsersService

/// Which failed attempts lock out which clients.
@Suite struct UsersSignInGuardTests {
    private static let now = Timestamp(milliseconds: 1_000_000)
    private static let end = now.advanced(by: SignInSubject.window)

    private static let stranger = SignInAttempt(account: "u1", network: "cb007109", device: nil)
    private static let phone = SignInAttempt(account: "u1", network: "cb007109", device: "d1")

    private func verdict(
        of attempt: SignInAttempt, on step: SignInGuard.Step = .password,
        _ failures: [SignInSubject: Int64], at now: Timestamp = now
    ) -> SignInGuard.Verdict {
        SignInGuard(attempt).verdict(
            on: step, failures.mapValues { SignInCounter(failures: $0, endsAt: Self.end) }, at: now)
    }

    private static let everything: [SignInSubject: Int64] = [
        .account("u1"): 99, .place("u1", network: "cb007109"): 99, .network("cb007109"): 99, .codes("u1"): 99,
        .device("u1", device: "d2"): 99, .owner("u1"): 99,
    ]

    @Test func fiveWrongPasswordsFromANetworkLockTheAccountForItForAQuarterOfAnHour() {
        let place = SignInSubject.place("u1", network: "cb007109")
        #expect(verdict(of: Self.stranger, [place: 4]) == .admitted)
        guard case .refused(let error) = verdict(of: Self.stranger, [place: 5]) else {
            Issue.record("It is not refused.")
            return
        }
        #expect(error.code == .objectNotFound)
        #expect(error.message.hasSuffix("after 15 minute(s)."))
        guard
            case .refused(let last) = verdict(
                of: Self.stranger, [place: 5], at: Self.end.advanced(by: .milliseconds(-1)))
        else {
            Issue.record("It is not refused.")
            return
        }
        #expect(last.message.hasSuffix("after 1 minute(s)."))
        #expect(verdict(of: Self.stranger, [place: 5], at: Self.end) == .admitted)
        let elsewhere = SignInAttempt(account: "u1", network: "cb00710a", device: nil)
        #expect(verdict(of: elsewhere, [place: 5]) == .admitted)
        #expect(verdict(of: elsewhere, [.account("u1"): 19]) == .admitted)
    }

    @Test func aKnownDeviceIsJudgedByItsOwnMistakesOnly() {
        for step in [SignInGuard.Step.password, .code] {
            #expect(verdict(of: Self.phone, on: step, Self.everything) == .admitted)
            #expect(verdict(of: Self.phone, on: step, [.device("u1", device: "d1"): 4]) == .admitted)
            if case .refused = verdict(of: Self.phone, on: step, [.device("u1", device: "d1"): 5]) { continue }
            Issue.record("It is not refused.")
        }
    }

    @Test func strangersFromManyNetworksLeaveTheWayWithTheSecondFactor() {
        guard case .admittedWithCode = verdict(of: Self.stranger, [.account("u1"): 20]) else {
            Issue.record("It is not asked for the code.")
            return
        }
        // An attacker in a single network does not get that far.
        guard case .refused = verdict(of: Self.stranger, Self.everything) else {
            Issue.record("It is not refused.")
            return
        }
    }

    @Test func aNetworkThatGuessesManyAccountsIsPaced() {
        #expect(verdict(of: Self.stranger, [.network("cb007109"): 29]) == .admitted)
        #expect(verdict(of: Self.stranger, [.network("cb007109"): 30]) == .paced)
    }

    @Test func wrongCodesOfStrangersLockTheCodesOnly() {
        if case .refused = verdict(of: Self.stranger, on: .code, [.codes("u1"): 5]) {
        } else {
            Issue.record("It is not refused.")
        }
        #expect(verdict(of: Self.stranger, on: .password, [.codes("u1"): 5]) == .admitted)
    }

    @Test func mistakesCountWhereTheyAreJudged() {
        #expect(
            SignInGuard(Self.stranger).counted(for: .password) == [
                .place("u1", network: "cb007109"), .account("u1"), .network("cb007109"),
            ])
        #expect(
            SignInGuard(Self.phone).counted(for: .password) == [.device("u1", device: "d1"), .account("u1")],
            "The network of somebody's own mistakes is not slowed down.")
        #expect(SignInGuard(Self.phone).cleared == [.device("u1", device: "d1")])
        #expect(SignInGuard(Self.stranger).cleared == [.place("u1", network: "cb007109")])
    }

    @Test func unknownNamesLockLikeKnownOnes() {
        let unknown = SignInSubject.unknown("Ann")
        #expect(unknown == SignInSubject.unknown("aNN"))
        let attempt = SignInAttempt(account: unknown, network: "n", device: nil)
        if case .refused = verdict(of: attempt, [.place(unknown, network: "n"): 5]) {
        } else {
            Issue.record("It is not refused.")
        }
        #expect(SignInSubject.account("x").key != SignInSubject.account(SignInSubject.unknown("x")).key)
    }

    @Test func aPacedNetworkTriesEveryTenSeconds() {
        var pace = NetworkRateLimit()
        #expect(pace.wait(of: "a", at: 100) == nil)
        #expect(pace.wait(of: "a", at: 100.5) == 10)
        #expect(pace.wait(of: "a", at: 109.5) == 1)
        #expect(pace.wait(of: "b", at: 109.5) == nil)
        #expect(pace.wait(of: "a", at: 110) == nil)
        for number in 0..<10_000 { _ = pace.wait(of: "\(number)", at: 111) }
    }
}
