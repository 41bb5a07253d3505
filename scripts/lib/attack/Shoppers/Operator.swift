import ParseProtocol
import SuiteClient

/// The shop's admin, who repeatedly signs in to the most attacked account and reads the orders.
struct Operator: Sendable {
    static let username = "admin@satchel.example"

    private var device: Device
    private let password: String

    init(_ device: Device) throws {
        self.device = device
        password = try device.target.secret("admin.password")
    }

    mutating func work(until end: ContinuousClock.Instant, into record: ShopperRecord) async {
        while ContinuousClock.now < end {
            await signIn(until: end, into: record)
            if device.sessionToken != nil {
                let orders = Request(path: "/classes/Order", query: ["order": "-orderNo", "limit": 10])
                _ = await device.ask(orders, until: end, into: record)
            }
            try? await Task.sleep(until: min(end, .now + .seconds(2)), clock: .continuous)
        }
    }

    mutating func signIn(until end: ContinuousClock.Instant, into record: ShopperRecord) async {
        let credentials: JSON = ["username": .string(Self.username), "password": .string(password)]
        device.sessionToken = nil
        let answer = await device.ask(.post("/login", credentials), .password, until: end, into: record)
        device.sessionToken = answer?["sessionToken"]?.stringValue
    }
}
