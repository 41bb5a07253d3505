import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// `salesByProduct {from?, to?, currency?, groupBy?, limit?}`: what sold in the days of a period, by product or brand.
struct SalesFunctions: Sendable {
    let host: ServiceHost
    /// The shop's currency.
    let currency: Currency
    let zone: ShopZone

    /// Hours of orders that one read takes: short reads let others pass between them.
    private static let readHours: Int64 = 7 * 24
    /// Objects in one request to the catalog.
    private static let fetchMax = 1000

    func install(in routes: inout ServiceRoutes) {
        routes.function("salesByProduct") { parameters, request in
            try request.requireArea(.developers, .orders, .support)
            let grouping = parameters["groupBy"]?.stringValue ?? "product"
            guard grouping == "product" || grouping == "brand" else {
                throw ParseError(.validationError, "groupBy must be product or brand.")
            }
            let limit = Int(try parameters.listLimit(standard: 20, maximum: 200))
            let wanted = try Self.currency(parameters["currency"]) ?? currency
            var sales = try await read(SeriesRange(parameters, only: .day, zone: zone), wanted, request)
            if grouping == "brand" { sales = try await byBrand(sales, request) }
            var answer = try await named(sales, isOfBrands: grouping == "brand", request).json(limit: limit)
            answer["currency"] = .string(wanted.code)
            return try .result(answer)
        }
    }

    /// - Throws: `.validationError` (142) for an unknown currency: it would look like a currency without sales.
    private static func currency(_ value: JSON?) throws -> Currency? {
        guard let value, !value.isNull else { return nil }
        guard let code = value.stringValue, let currency = try? Currency(code) else {
            throw ParseError(.validationError, "currency must be an ISO 4217 code, such as usd.")
        }
        return currency
    }

    private func read(
        _ range: SeriesRange, _ wanted: Currency, _ request: ServiceRequest
    ) async throws -> ProductSales {
        let reading = ProductSalesReading(currency: wanted, shopCurrency: currency)
        let hours = stride(from: range.fromHour, to: range.toHour, by: Int(Self.readHours))
        let (from, to) = (zone.start(ofHour: range.fromHour), zone.start(ofHour: range.toHour))
        var sales = try await host.store.read(for: request.share) { try reading.refunds(from: from, to: to, in: $0) }
        for hour in hours {
            let (start, end) = (zone.start(ofHour: hour), zone.start(ofHour: min(hour + Self.readHours, range.toHour)))
            sales.add(
                try await host.store.read(for: request.share) { try reading.orders(from: start, to: end, in: $0) })
        }
        return sales
    }

    /// The sums by the objectId of the brand that a product has now; empty for a product without one.
    private func byBrand(_ sales: ProductSales, _ request: ServiceRequest) async throws -> ProductSales {
        let products = try await objects("Product", sales.sums.keys, ["brand"], request)
        var byBrand = ProductSales()
        for (id, sum) in sales.sums {
            var sum = sum
            sum.name = ""
            byBrand.add(sum, to: products[id]?["brand"]?.pointerTarget?.objectId ?? "")
        }
        return byBrand
    }

    /// Adds the catalog's names to sums whose lines have none. A line stores its product's name, but never its brand's.
    private func named(
        _ sales: ProductSales, isOfBrands: Bool, _ request: ServiceRequest
    ) async throws -> ProductSales {
        let (className, field) = isOfBrands ? ("Category", "title") : ("Product", "name")
        let unnamed = sales.sums.filter { $0.value.name.isEmpty }.keys
        var sales = sales
        for (id, object) in try await objects(className, unnamed, [field], request) {
            sales.add(.init(name: object[field]?.stringValue ?? ""), to: id)
        }
        return sales
    }

    private func objects(
        _ className: String, _ ids: some Sequence<String>, _ keys: [String], _ request: ServiceRequest
    ) async throws -> [String: JSON] {
        let ids = ids.filter(Names.isObjectId).sorted()
        var found: [String: JSON] = [:]
        for start in stride(from: 0, to: ids.count, by: Self.fetchMax) {
            let some = Set(ids[start..<min(start + Self.fetchMax, ids.count)])
            let objects = try await host.objects(className, ids: some, keys: keys, as: .satchel, for: request)
            found.merge(objects) { first, _ in first }
        }
        return found
    }
}
