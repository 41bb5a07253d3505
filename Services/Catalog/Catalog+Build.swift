import Messages
import ObjectStore
import ParseProtocol
import Platform
import ServiceKit

/// Classes, rules and tables of the catalog, which also hosts the platform.
/// - Parameter bucket: the bucket that stores file contents; nil for the disk.
package func catalogPlan(_ currency: Currency, _ bucket: FileBucket? = nil) -> ServicePlan {
    ServicePlan(
        name: "catalog",
        classes: [.category, .product, .inAppProduct, .productReview, .favoriteProduct, .store, .page]
            + platformClasses,
        migrations: catalogMigrations,
        ownsUnknownClasses: true
    ) { host in
        let files = FileStorage(host, bucket)
        let rules: [String: any ClassRules] = [
            "Product": ProductRules(photos: ProductPhotos(home: files), currency: currency, outbox: host.outbox),
            "ProductReview": ReviewRules(authors: ReviewAuthors(bus: host.bus)),
            "FavoriteProduct": FavoriteRules(), "Page": PageRules(),
            "_Product": InAppProductRules(files: PurchasedFiles(home: files)),
        ]
        return rules.merging(platformRules(jobs: catalogJobs(host))) { own, _ in own }
    }
}

package func buildCatalog(
    _ host: ServiceHost, _ routes: inout ServiceRoutes, _ currency: Currency, _ bucket: FileBucket? = nil
) throws {
    let reservations = Reservations(currency: currency, logger: host.logger)

    routes.read(framed: CatalogCalls.price) { message, request, reader in
        try PriceList(currency: currency).price(message, caller: request.caller, in: reader)
    }
    // These three messages are idempotent by the reservation id, so the handler always answers with the current state.
    // A reply stored under the request's key could be out of date.
    routes.write(CatalogCalls.reserve, keyed: false) { message, request, transaction in
        try reservations.reserve(message, caller: request.caller, in: transaction)
    }
    routes.write(CatalogCalls.commitReservation, keyed: false) { message, _, transaction in
        try reservations.commit(message.reservationID, in: transaction)
        return CommitReservationReply()
    }
    routes.write(CatalogCalls.releaseReservation, keyed: false) { message, _, transaction in
        try reservations.release(message.reservationID, in: transaction)
        return ReleaseReservationReply()
    }
    routes.accept(CatalogCalls.restock) { message, _, transaction in
        try Restocks.add(message, in: transaction)
    }
    routes.task(CatalogCalls.countReceipt) { _, request in
        try host.quotas.take(of: .receipts, by: request.caller)
        return Accepted()
    }
    routes.accept(CatalogCalls.userRenamed) { message, _, transaction in
        try AuthorRenames.take(message, in: transaction)
    }
    routes.function("nearestStores") { parameters, request in
        let search = try NearestStores(parameters)
        return try .result(
            await host.store.read(for: request.share) { try search.find(in: $0, caller: request.caller) })
    }
    ReviewFunctions(host: host).install(in: &routes)
    StockFunctions(host: host).install(in: &routes)
    scheduleCleanup(host, reservations)
    let files = FileStorage(host, bucket)
    if let bucket {
        routes.installBooks(objects: { after in
            do {
                return try await bucket.names(after: after)
            } catch {
                throw ParseError(.validationError, "\(error)")
            }
        })
    }
    let photos = ProductPhotos(home: files)
    routes.function("makeThumbnail") { parameters, request in
        try request.requireArea(.catalog)
        guard let name = parameters["name"]?.stringValue else {
            throw ParseError(.validationError, "name is missing or not a string.")
        }
        return try .result(await photos.makeThumbnail(of: name, request.share))
    }
    let pictures = try SizedPictures(host, files, photos.studio)
    routes.task(framed: FileCalls.picture) { message, request in
        try await pictures.reply(to: message, request)
    }
    let lifecycle = try buildPlatform(host, &routes, files, jobs: catalogJobs(host))
    routes.accept(NotificationCalls(to: "catalog").userDeleted) { message, _, transaction in
        try AccountDeletion.forget(message.userID, in: transaction)
        try lifecycle.removeAccountPhotos(of: message.userID, in: transaction)
    }
    let purchasedFiles = PurchasedFiles(home: files)
    host.whenWriter("purchases", every: .seconds(300), problem: "Files of products could not be made private.") {
        try await purchasedFiles.convert()
        return .finished
    }
}

private func catalogJobs(_ host: ServiceHost) -> [Job] {
    [Job(name: "recountRatings", run: RatingRecount(store: host.store).run)]
}

/// Reservations last at least one minute, so a few extra seconds are harmless.
private let expiryPause = Duration.seconds(3)

/// Returns the stock of expired reservations, removes the leftovers of deleted products, and renames review authors.
private func scheduleCleanup(_ host: ServiceHost, _ reservations: Reservations) {
    host.limitStoredTimes(Reservations.waits)
    host.whenWriter(
        "house", every: expiryPause,
        problem: "Expired reservations, deleted products or former names could not be cleaned up."
    ) {
        let isMoreLeft = try await host.store.write(for: nil) { transaction in
            try reservations.forgetOld(in: transaction)
            return try reservations.expire(in: transaction)
        }
        let isMoreToRemove = try await host.store.write(for: nil) { try ProductRemoval.goOn(in: $0) }
        // Writes nothing when there are no old ids.
        let areIdsLeft = try await host.store.write(for: nil) { try RequestClaims.removeExpired(in: $0) }
        let areAnswersLeft = try await host.store.write(for: nil) { try KeyedAnswers.removeExpired(in: $0) }
        let areNamesLeft = try await host.store.write(for: nil) { try AuthorRenames.goOn(in: $0) }
        return isMoreLeft || isMoreToRemove || areIdsLeft || areAnswersLeft || areNamesLeft ? .more : .idle
    }
}
