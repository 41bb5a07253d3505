import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// What the rules of products and the running service share.
private let productPhotos = ProductPhotos()

package let catalogPlan = ServicePlan(
    name: "catalog",
    classes: [.category, .product, .inAppProduct, .productReview, .favoriteProduct, .store],
    rules: [
        "Product": ProductRules(photos: productPhotos), "ProductReview": ReviewRules(),
        "FavoriteProduct": FavoriteRules(),
    ],
    tables: ProductRatings.tables + Reservations.tables + FileTable.tables,
    ownsUnknownClasses: true)

func buildCatalog(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let currency = try Currency(host.configuration.reader.string(forKey: "satchel.currency", default: "usd"))
    let reservations = Reservations(currency: currency, logger: host.logger)

    routes.read("catalog.price.v1", PriceRequest.self) { message, request, reader in
        try BusReply(PriceList(currency: currency).price(message, caller: request.caller, in: reader))
    }
    // These three are idempotent by the reservation's own id, so the answer always tells the present state; a reply kept under
    // the request's key could be out of date.
    routes.task("catalog.reserve.v1", ReserveRequest.self) { message, request in
        try await host.store.write { try BusReply(reservations.reserve(message, caller: request.caller, in: $0)) }
    }
    routes.task("catalog.commitReservation.v1", CommitReservationRequest.self) { message, _ in
        try await host.store.write { transaction in
            try reservations.commit(message.reservationID, in: transaction)
            return try BusReply(CommitReservationReply())
        }
    }
    routes.task("catalog.releaseReservation.v1", ReleaseReservationRequest.self) { message, _ in
        try await host.store.write { transaction in
            try reservations.release(message.reservationID, in: transaction)
            return try BusReply(ReleaseReservationReply())
        }
    }
    let files = FileFolder(dataDirectory: host.configuration.dataDirectory)
    installFiles(host, files, &routes)
    productPhotos.connect(host, files)
    host.whenWriter { await returnExpiredStock(host, reservations) }
}

/// Reservations live for a minute at least, so that a few seconds more do not matter.
private let expiryPause = Duration.seconds(3)

private func returnExpiredStock(_ host: ServiceHost, _ reservations: Reservations) async {
    while !Task.isCancelled {
        do {
            let isMoreLeft = try await host.store.write { transaction in
                try reservations.forgetOld(in: transaction)
                return try reservations.expire(in: transaction)
            }
            if isMoreLeft { continue }
        } catch {
            host.logger.error("Expired reservations could not be returned to stock.", metadata: ["error": "\(error)"])
        }
        try? await Task.sleep(for: expiryPause)
    }
}
