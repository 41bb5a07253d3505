import ParseProtocol
import SuiteClient

/// An honest customer who browses, searches, fills the bag and buys, with short pauses.
struct Shopper: Sendable {
    private let shelf: Shelf
    private var device: Device
    private let email = "\(Names.random(10).lowercased())@shoppers.example"
    private let password = Names.random(12)
    private var userId = ""
    private var isSignedUp = false
    private var visits = 0

    init(_ device: Device, shelf: Shelf) { (self.device, self.shelf) = (device, shelf) }

    /// Shops until `end`.
    mutating func shop(until end: ContinuousClock.Instant, into record: ShopperRecord) async {
        let visit = Visit(end: end, record: record)
        while visit.goesOn {
            await startApp(visit)
            await browse(visit)
            await buy(visit)
            visits += 1
        }
    }

    /// Every second shopper has an account; the others use the app without one.
    mutating func arrive(hasAccount: Bool, until end: ContinuousClock.Instant, into record: ShopperRecord) async {
        let visit = Visit(end: end, record: record)
        if hasAccount { await signUp(visit) } else { await enterAnonymously(visit) }
    }

    private struct Visit {
        let end: ContinuousClock.Instant
        let record: ShopperRecord

        var goesOn: Bool { ContinuousClock.now < end }
    }

    private mutating func ask(
        _ request: Request, in visit: Visit, as kind: ShopperRecord.Kind = .ordinary
    ) async -> JSON? {
        guard visit.goesOn else { return nil }
        let answer = await device.ask(request, kind, until: visit.end, into: visit.record)
        let mean = ShopperRecord.interval / .milliseconds(1)
        let pause = Duration.milliseconds(Int.random(in: Int(mean / 2)...Int(mean * 3 / 2)))
        try? await Task.sleep(until: min(visit.end, .now + pause), clock: .continuous)
        return answer
    }

    // MARK: - Accounts

    private mutating func startApp(_ visit: Visit) async {
        _ = await ask(.post("/events/AppOpened", ["dimensions": ["source": "icon"]]), in: visit)
        _ = await ask(.post("/functions/hello", [:]), in: visit)
        let die = Int.random(in: 0..<100)
        if isSignedUp, die < 8 {
            await signIn(visit)
        } else if !isSignedUp, die < 8 {
            await signUp(visit)
        } else if !isSignedUp, die < 25 || userId.isEmpty {
            await enterAnonymously(visit)
        }
    }

    private mutating func enterAnonymously(_ visit: Visit) async {
        device.sessionToken = nil
        accept(await ask(.anonymousUser, in: visit))
    }

    private mutating func signUp(_ visit: Visit) async {
        device.sessionToken = nil
        let answer = await ask(.signUp(email: email, password: password), in: visit, as: .password)
        isSignedUp = answer != nil
        accept(answer)
    }

    private mutating func signIn(_ visit: Visit) async {
        let credentials: JSON = ["username": .string(email), "password": .string(password)]
        accept(await ask(.post("/login", credentials), in: visit, as: .password))
    }

    private mutating func accept(_ answer: JSON?) {
        guard let token = answer?["sessionToken"]?.stringValue, let id = answer?["objectId"]?.stringValue else {
            return
        }
        (device.sessionToken, userId) = (token, id)
    }

    // MARK: - The shop

    private mutating func browse(_ visit: Visit) async {
        _ = await ask(.brands, in: visit)
        _ = await ask(.products(ofBrand: shelf.brandIds.randomElement() ?? ""), in: visit)
        _ = await ask(.search(for: Shelf.words.randomElement() ?? ""), in: visit)
        let product = shelf.productIds.randomElement() ?? ""
        _ = await ask(.product(product), in: visit)
        let reviews: JSON = ["product": .pointer("Product", product)]
        _ = await ask(
            Request(
                path: "/classes/ProductReview",
                query: ["where": reviews, "include": "user", "order": "-createdAt", "limit": 10]
            ), in: visit)
        if isSignedUp { _ = await ask(.favourite(product, of: userId), in: visit) }
    }

    private mutating func buy(_ visit: Visit) async {
        guard device.sessionToken != nil, let product = shelf.productIds.randomElement() else { return }
        let bag = await ask(.addToBag(product), in: visit)
        _ = await ask(.post("/functions/bag", [:]), in: visit)
        if isSignedUp, visits % 3 == 2, bag != nil { _ = await ask(.checkout(key: Names.random(16)), in: visit) }
        _ = await ask(.history, in: visit)
    }
}
