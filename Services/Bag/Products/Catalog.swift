import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The bag's knowledge of products: the price that counts and the object that a client sees.
struct ProductFacts: Sendable {
    var prices = Prices()
    /// `Product` objects with `"__type":"Object"`, as included objects look on the wire.
    var documents: [String: JSON] = [:]

    mutating func merge(_ newer: ProductFacts) {
        prices.merge(newer.prices)
        documents.merge(newer.documents) { _, new in new }
    }
}

/// Questions to the catalog.
struct Catalog: Sendable {
    let host: ServiceHost

    /// Current prices of what `principal` may see. One request, however many products.
    func prices(of products: Set<String>, as principal: Principal, traceId: String = "") async throws -> Prices {
        guard !products.isEmpty else { return Prices() }
        let request = PriceRequest.with { message in
            message.lines = products.sorted().map { product in
                .with {
                    $0.productID = product; $0.quantity = 1
                }
            }
        }
        let reply = try await host.call(CatalogCalls.price, request, as: principal, traceId: traceId)
        var prices = Prices(asked: products)
        for line in reply.lines where products.contains(line.productID) {
            guard (0...Price.minorUnitsMax).contains(line.unitPriceMinorUnits) else { continue }
            prices.unitPriceMinorUnits[line.productID] = line.unitPriceMinorUnits
        }
        return prices
    }

    /// Prices and objects, the objects as far as `principal` may read them.
    func facts(about products: Set<String>, as principal: Principal, traceId: String) async throws -> ProductFacts {
        async let prices = prices(of: products, as: principal, traceId: traceId)
        let documents = try await host.objects("Product", ids: products, as: principal, traceId: traceId)
        return ProductFacts(prices: try await prices, documents: documents.mapValues(Self.included))
    }

    private static func included(_ document: JSON) -> JSON {
        var object = document
        object["__type"] = "Object"
        object["className"] = "Product"
        return object
    }
}

extension ServiceHost {
    private static let owners = ["Product": "catalog", "_User": "users"]

    /// Objects of another service that `principal` may read, by objectId.
    func objects(
        _ className: String, ids: Set<String>, as principal: Principal, traceId: String
    ) async throws -> [String: JSON] {
        guard !ids.isEmpty, let owner = Self.owners[className] else { return [:] }
        let wanted = FetchRequest.with {
            $0.wanted = [
                .with {
                    $0.className = className; $0.objectIds = ids.sorted()
                }
            ]
        }
        var request = try BusRequest(ObjectCalls(of: owner).fetch, wanted)
        request.principal = principal
        request.traceId = traceId
        do {
            let reply = try await bus.call(request)
            let found = try FetchReply(serializedBytes: reply.body).found
            return try zip(found, reply.documents).reduce(into: [:]) { $0[$1.0.objectID] = try JSON(clientText: $1.1) }
        } catch let failure as BusFailure {
            throw ParseError(failure)
        }
    }
}
