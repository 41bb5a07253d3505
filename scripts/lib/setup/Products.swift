import ParseProtocol

/// Fills the catalog with generated products, for benchmarks.
struct Products {
    private let gateway: GatewayOptions
    private let data: DataOptions
    /// Total products, including existing ones.
    private let count: Int

    /// The gateway's limit for one batch.
    private static let batchSize = 200
    /// Enough to fill the writer's group commits, few enough to leave the gateway capacity for customers.
    private static let requestsInFlight = 4

    init(_ words: some Sequence<String>) throws(SetupError) {
        let arguments = try Arguments(words, options: ["url", "data", "count"])
        gateway = GatewayOptions(arguments)
        data = DataOptions(arguments)
        guard let count = Int(try arguments.required("count")), (0...5_000_000).contains(count) else {
            throw .invalid("--count must be between 0 and 5000000.")
        }
        self.count = count
    }

    func run() async throws {
        let shop = try data.shopData()
        try await Gateway.connected(to: gateway.endpoint()) { gateway in
            let loader = Loader(gateway: gateway)
            let brands = try await DemoShopLoad(loader: loader, shop: shop).categories()
            guard !brands.isEmpty else { throw SetupError.invalid("The shop data has no categories.") }
            let generator = ProductGenerator(
                vocabulary: try shop.vocabulary(), brands: brands.sorted { $0.key < $1.key }.map(\.value))
            let indexes = try await absentIndexes(loader)
            if !indexes.isEmpty { try await load(indexes, generator, loader) }
            writeLine("The catalog has at least \(count) products.")
        }
    }

    /// The lowest missing indexes, as many as products are missing. An interrupted load leaves gaps, because several
    /// batches are in flight.
    private func absentIndexes(_ loader: Loader) async throws -> [Int] {
        let answer = try await loader.gateway.send(.get, "/classes/Product", query: ["limit": 0, "count": 1])
        guard let stored = answer["count"]?.intValue else {
            throw SetupError.unexpectedAnswer(request: "GET /classes/Product")
        }
        let missing = count - Int(clamping: stored)
        guard missing > 0 else { return [] }
        let ids = try await loader.ids("Product", from: ProductGenerator.idPrefix, below: ProductGenerator.idEnd)
        let present = Set(ids.compactMap(ProductGenerator.index(ofId:)))
        return Array((0...).lazy.filter { !present.contains($0) }.prefix(missing))
    }

    private func load(_ indexes: [Int], _ generator: ProductGenerator, _ loader: Loader) async throws {
        var progress = Progress("Product", total: indexes.count)
        var batches = stride(from: 0, to: indexes.count, by: Products.batchSize).map {
            indexes[$0..<min($0 + Products.batchSize, indexes.count)]
        }[...]
        var done = 0
        try await withThrowingTaskGroup(of: Int.self) { group in
            func startNext() {
                guard let batch = batches.popFirst() else { return }
                group.addTask {
                    try await loader.create("Product", batch.map(generator.product))
                    return batch.count
                }
            }
            for _ in 0..<Products.requestsInFlight { startNext() }
            while let stored = try await group.next() {
                done += stored
                progress.update(done)
                startNext()
            }
        }
        progress.finish(new: done)
    }
}
