import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Customers who fill their bag and pay, again and again: the load of the benchmark of checkouts.
struct Checkouts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkouts", abstract: "Buys with many customers at once and prints orders and latencies as JSON.")

    @Option(help: "The gateway with its mount, http://127.0.0.1:1337/parse.") var url: String
    @Option(help: "A file with a session token in each line; each is a customer.") var sessions: String
    @Option(help: "objectIds of products, with commas between them.") var products: String
    @Option var seconds = 3.0

    /// What was measured. Latencies are those of the checkouts alone, in milliseconds.
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
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = tokens.count
        let http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let latencies: [Duration]
        do {
            latencies = try await withThrowingTaskGroup(of: [Duration].self) { group in
                for (index, token) in tokens.enumerated() {
                    let customer = BuyingCustomer(
                        http: http, url: url, session: token, product: products[index % products.count])
                    group.addTask { try await customer.buy(until: end) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        } catch {
            try? await http.shutdown()
            throw error
        }
        let passed = (ContinuousClock.now - start) / .seconds(1)
        try await http.shutdown()
        let sorted = latencies.map { $0 / .milliseconds(1) }.sorted()
        let report = Report(
            orders: sorted.count, seconds: passed, p50: Self.quantile(0.5, of: sorted),
            p99: Self.quantile(0.99, of: sorted))
        print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }

    /// The least of the sorted numbers that so large a part of them does not exceed; 0 of none.
    private static func quantile(_ part: Double, of sorted: [Double]) -> Double {
        sorted.isEmpty ? 0 : sorted[max(0, Int((Double(sorted.count) * part).rounded(.up)) - 1)]
    }
}

/// One customer, who does one thing after the other.
private struct BuyingCustomer: Sendable {
    let http: HTTPClient
    let url: String
    let session: String
    let product: String

    private struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    private static let address = """
        {"firstName":"Ann","lastName":"Lee","phone":"555-0100","address1":"1 Main St","city":"Springfield",\
        "state":"IL","zipcode":"62701"}
        """

    /// The latency of each checkout; one that began in time is waited for.
    func buy(until end: ContinuousClock.Instant) async throws -> [Duration] {
        var latencies: [Duration] = []
        while ContinuousClock.now < end {
            try await run("addToBag", #"{"productId":"\#(product)","quantity":1}"#)
            let key = UUID().uuidString
            let start = ContinuousClock.now
            try await run(
                "checkout",
                #"{"tokenId":"tok_visa","idempotencyKey":"\#(key)","shippingAddress":\#(Self.address)}"#)
            latencies.append(ContinuousClock.now - start)
        }
        return latencies
    }

    /// Calls a cloud function.
    /// - Throws: `Refused` for an answer that is not 200.
    private func run(_ function: String, _ parameters: String) async throws {
        var request = HTTPClientRequest(url: "\(url)/functions/\(function)")
        request.method = .POST
        request.headers = HTTPHeaders([
            ("X-Parse-Application-Id", "satchel"), ("X-Parse-Session-Token", session),
            ("Content-Type", "application/json"),
        ])
        request.body = .bytes(ByteBuffer(string: parameters))
        let response = try await http.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else {
            throw Refused(description: "\(function) answered \(response.status.code): \(String(buffer: body))")
        }
    }
}
