import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// What the bag knows about products: the current price and the object shown to clients.
struct ProductFacts: Sendable {
    var prices = Prices()
    /// `Product` objects with `"__type":"Object"`, in the wire format of included objects.
    var documents: [String: JSON] = [:]

    mutating func merge(_ newer: ProductFacts) {
        prices.merge(newer.prices)
        documents.merge(newer.documents) { _, new in new }
    }
}

/// Requests to the catalog.
struct Catalog: Sendable {
    let host: ServiceHost

    /// Current prices of the products that `principal` may see. One request for any number of products.
    /// - Parameter origin: the request that needs them.
    func prices(of products: Set<String>, as principal: Principal, for origin: ServiceRequest?) async throws -> Prices {
        guard !products.isEmpty else { return Prices() }
        return Prices(try await ask(about: products, withProducts: false, as: principal, origin).prices, of: products)
    }

    /// Prices and the objects that `principal` may read, in one request.
    /// - Parameter origin: the request that needs them.
    func facts(
        about products: Set<String>, as principal: Principal, for origin: ServiceRequest
    ) async throws -> ProductFacts {
        guard !products.isEmpty else { return ProductFacts() }
        let (reply, found) = try await ask(about: products, withProducts: true, as: principal, origin)
        // Products with a price are readable. A catalog of an earlier release returns no products in this reply.
        let documents =
            reply.productIds.isEmpty && !reply.lines.isEmpty
            ? try await host.objects("Product", ids: products, as: principal, for: origin)
            : try zip(reply.productIds, found).reduce(into: [:]) { $0[$1.0] = try JSON(parsing: $1.1) }
        return ProductFacts(prices: Prices(reply, of: products), documents: documents.mapValues(Self.included))
    }

    private func ask(
        about products: Set<String>, withProducts: Bool, as principal: Principal, _ origin: ServiceRequest?
    ) async throws -> (prices: PriceReply, products: [[UInt8]]) {
        let lines = products.sorted().map { product in
            OrderLine.with {
                $0.productID = product
                $0.quantity = 1
            }
        }
        let message = PriceRequest.with {
            $0.lines = lines
            $0.withProducts = withProducts
        }
        var request = try BusRequest(CatalogCalls.price, message, for: origin)
        request.principal = principal
        do {
            let reply = try await host.bus.call(request)
            return (try PriceReply(serializedBytes: reply.body), reply.documents)
        } catch let failure as BusFailure {
            throw ParseError(failure)
        }
    }

    private static func included(_ document: JSON) -> JSON {
        var object = document
        object["__type"] = "Object"
        object["className"] = "Product"
        return object
    }
}

extension Prices {
    /// - Parameter products: every requested product.
    fileprivate init(_ reply: PriceReply, of products: Set<String>) {
        self.init(asked: products)
        for line in reply.lines where products.contains(line.productID) {
            guard (0...Price.minorUnitsMax).contains(line.unitPriceMinorUnits) else { continue }
            unitPriceMinorUnits[line.productID] = line.unitPriceMinorUnits
            if !line.brandID.isEmpty { brands[line.productID] = line.brandID }
        }
    }
}

extension ServiceHost {
    private static let owners = ["Category": "catalog", "Product": "catalog", "_User": "users"]

    /// Objects of another service that `principal` may read, by objectId.
    /// - Parameters:
    ///   - ids: at most 1000.
    ///   - keys: the fields to read; empty for all.
    func objects(
        _ className: String, ids: Set<String>, keys: [String] = [], as principal: Principal,
        for origin: ServiceRequest?
    ) async throws -> [String: JSON] {
        guard !ids.isEmpty, let owner = Self.owners[className] else { return [:] }
        let wanted = FetchRequest.with {
            $0.wanted = [
                .with {
                    $0.className = className; $0.objectIds = ids.sorted(); $0.keys = keys
                }
            ]
        }
        var request = try BusRequest(ObjectCalls(of: owner).fetch, wanted, for: origin)
        request.principal = principal
        do {
            let reply = try await bus.call(request)
            let found = try FetchReply(serializedBytes: reply.body).found
            return try zip(found, reply.documents).reduce(into: [:]) { $0[$1.0.objectID] = try JSON(parsing: $1.1) }
        } catch let failure as BusFailure {
            throw ParseError(failure)
        }
    }
}
