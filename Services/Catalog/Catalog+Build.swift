import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Classes, rules and tables of the catalog.
/// - Parameter bucket: the bucket that stores file contents; nil for the disk.
package func catalogPlan(_ currency: Currency, _ bucket: FileBucket? = nil) -> ServicePlan {
    ServicePlan(
        name: "catalog",
        classes: [
            .category, .product, .inAppProduct, .productReview, .favoriteProduct, .store, .page, .requestClaim,
            .jobStatus,
            .jobSchedule,
        ],
        migrations: catalogMigrations,
        ownsUnknownClasses: true
    ) { host in
        let files = FileStorage(host, bucket)
        return [
            "Product": ProductRules(photos: ProductPhotos(home: files), currency: currency, outbox: host.outbox),
            "ProductReview": ReviewRules(authors: ReviewAuthors(bus: host.bus)),
            "FavoriteProduct": FavoriteRules(), "Page": PageRules(),
            "_Product": InAppProductRules(files: PurchasedFiles(home: files)),
            "_JobStatus": JobStatusRules(), "_JobSchedule": JobScheduleRules(jobs: catalogJobs),
        ]
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
    routes.read(framed: CatalogCalls.config) { _, request, reader in
        try BusReply(ConfigReply(), documents: [ConfigParameters.answer(in: reader, caller: request.caller)])
    }
    routes.accept(CatalogCalls.setConfig) { _, request, transaction in
        try request.requireMaster(or: .developers)
        let change = try request.document()
        if !request.isFromAdmin { try ConfigParameters.requireVisible(change, in: transaction) }
        let before = try ConfigParameters.all(in: transaction)
        let wasHidden = try ConfigParameters.hidden(in: transaction)
        try ConfigParameters.apply(change, in: transaction)
        let hidden = try ConfigParameters.hidden(in: transaction).union(wasHidden)
        let after = try ConfigParameters.all(in: transaction)
        try host.audit.note(
            .init("config", "_GlobalConfig", before: before, after: after, hiding: hidden), by: request,
            in: transaction)
    }
    routes.task(CatalogCalls.countReceipt) { _, request in
        try host.quotas.take(of: .receipts, by: request.caller)
        return Accepted()
    }
    routes.accept(CatalogCalls.claimRequest) { message, _, transaction in
        try RequestClaims.claim(message, in: transaction)
    }
    routes.accept(CatalogCalls.releaseRequest) { message, _, transaction in
        try RequestClaims.release(message.requestID, in: transaction)
    }
    routes.accept(NotificationCalls(to: "catalog").userDeleted) { message, _, transaction in
        try AccountDeletion.forget(message.userID, in: transaction)
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
    scheduleCleanup(host, reservations)
    let files = FileStorage(host, bucket)
    let keeper = installFiles(host, files, &routes)
    let purchasedFiles = PurchasedFiles(home: files)
    host.whenWriter("purchases", every: .seconds(1), problem: "Files of products could not be made private.") {
        try await purchasedFiles.convert()
        return .finished
    }
    installHooks(host, &routes)
    try installJobs(host, keeper, &routes)
}

/// Reservations last at least one minute, so a few extra seconds are harmless.
private let expiryPause = Duration.seconds(3)

/// Returns the stock of expired reservations, removes the leftovers of deleted products, and renames review authors.
private func scheduleCleanup(_ host: ServiceHost, _ reservations: Reservations) {
    host.shorten(Reservations.waits, BucketDeletions.waits)
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
        let areNamesLeft = try await host.store.write(for: nil) { try AuthorRenames.goOn(in: $0) }
        return isMoreLeft || isMoreToRemove || areIdsLeft || areNamesLeft ? .more : .idle
    }
}
