import ArgumentParser
import Foundation
import NIOCore
import NIOPosix
import ParseProtocol
import SuiteClient

/// Customers who repeatedly fill their bag and pay: the load of the checkout benchmark.
struct Checkouts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkouts", abstract: "Buys with many customers at once and prints orders and latencies as JSON.")

    @Option(help: "The gateway with its mount, http://127.0.0.1:1337/parse.") var url: String
    @Option(help: "A file with a session token in each line; each is a customer.") var sessions: String
    @Option(help: "objectIds of products, with commas between them.") var products: String
    @Option var seconds = 3.0

    /// The measurements. Latencies are of checkouts only, in milliseconds.
    private struct Report: Encodable {
        let orders: Int
        let seconds: Double
        let p50: Double
        let p99: Double
    }

    func run() async throws {
        let tokens = try String(contentsOfFile: sessions, encoding: .utf8).split(separator: "\n").map(String.init)
        let products = products.split(separator: ",").map(String.init)
        guard !tokens.isEmpty, !products.isEmpty else { throw ValidationError("There is nobody, or nothing, to buy.") }
        let gateway = try GatewayAddress(url)
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let latencies = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for (index, token) in tokens.enumerated() {
                let product = products[index % products.count]
                group.addTask {
                    let link = try await Link.open(
                        gateway, on: MultiThreadedEventLoopGroup.singleton, bodyBytesKept: 4096)
                    defer { link.close() }
                    let customer = BuyingCustomer(link: link, gateway: gateway, session: token, product: product)
                    return try await customer.buy(until: end)
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let passed = (ContinuousClock.now - start) / .seconds(1)
        let sorted = latencies.map { $0 / .milliseconds(1) }.sorted()
        let report = Report(
            orders: sorted.count, seconds: passed, p50: Self.quantile(0.5, of: sorted),
            p99: Self.quantile(0.99, of: sorted))
        print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }

    /// The quantile of sorted numbers; 0 when there are none.
    private static func quantile(_ part: Double, of sorted: [Double]) -> Double {
        sorted.isEmpty ? 0 : sorted[max(0, Int((Double(sorted.count) * part).rounded(.up)) - 1)]
    }
}

/// The gateway of the benchmark's suite, on this machine.
private struct GatewayAddress: Site {
    let host: String
    let port: Int
    let mount: String
    let applicationId = "satchel"

    init(_ url: String) throws {
        guard let parts = URLComponents(string: url), let host = parts.host, let port = parts.port else {
            throw ValidationError("\(url) is no URL with a port.")
        }
        (self.host, self.port, mount) = (host, port, parts.path)
    }

    func address() throws -> SocketAddress { try SocketAddress(ipAddress: host, port: port) }
}

/// One customer, who sends one request at a time.
private struct BuyingCustomer: Sendable {
    let link: Link
    let gateway: GatewayAddress
    let session: String
    let product: String

    private struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    private static let address: JSON = [
        "firstName": "Ann", "lastName": "Lee", "phone": "555-0100", "address1": "1 Main St", "city": "Springfield",
        "state": "IL", "zipcode": "62701",
    ]

    /// The latency of each checkout. A checkout that began before `end` is awaited.
    func buy(until end: ContinuousClock.Instant) async throws -> [Duration] {
        var latencies: [Duration] = []
        while ContinuousClock.now < end {
            try await run("addToBag", ["productId": .string(product), "quantity": 1])
            let key = UUID().uuidString
            let start = ContinuousClock.now
            try await run(
                "checkout",
                ["tokenId": "tok_visa", "idempotencyKey": .string(key), "shippingAddress": Self.address])
            latencies.append(ContinuousClock.now - start)
        }
        return latencies
    }

    /// Calls a cloud function.
    /// - Throws: `Refused` for a status other than 200.
    private func run(_ function: String, _ parameters: JSON) async throws {
        var request = Request.post("/functions/\(function)", parameters)
        request.headers["X-Parse-Session-Token"] = session
        let answer = try await link.send(request.bytes(for: gateway), timeout: .seconds(30))
        guard answer.status == 200 else {
            throw Refused(description: "\(function) answered \(answer.status): \(answer.text)")
        }
    }
}
