import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Classes, rules and tables of the catalog.
/// - Parameter bucket: where files have their content; nil for the disk.
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
        let files = FileHome(host, bucket)
        return [
            "Product": ProductRules(photos: ProductPhotos(home: files), currency: currency),
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
    // These three are idempotent by the reservation's own id, so the answer always tells the present state; a reply
    // kept under the request's key could be out of date.
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
    routes.accept(CatalogCalls.claimRequest) { message, _, transaction in
        try RequestClaims.claim(message, in: transaction)
    }
    routes.accept(CatalogCalls.releaseRequest) { message, _, transaction in
        try RequestClaims.release(message.requestID, in: transaction)
    }
    routes.accept(NewsCalls(to: "catalog").userDeleted) { message, _, transaction in
        try AccountDeletion.forget(message.userID, in: transaction)
    }
    routes.accept(CatalogCalls.userRenamed) { message, _, transaction in
        try AuthorRenames.take(message, in: transaction)
    }
    routes.function("nearestStores") { parameters, request in
        let search = try NearestStores(parameters)
        return try .result(await host.store.read { try search.find(in: $0, caller: request.caller) })
    }
    ReviewFunctions(host: host).install(in: &routes)
    keepHouse(host, reservations)
    let files = FileHome(host, bucket)
    let keeper = installFiles(host, files, &routes)
    let purchasedFiles = PurchasedFiles(home: files)
    host.whenWriter("purchases", every: .seconds(1), problem: "Files of products could not be made private.") {
        try await purchasedFiles.convert()
        return .finished
    }
    installHooks(host, &routes)
    try installJobs(host, keeper, &routes)
}

/// Reservations live for a minute at least, so that a few seconds more do not matter.
private let expiryPause = Duration.seconds(3)

/// Returns stock of reservations that expired, removes what deleted products left, and renames authors of reviews.
private func keepHouse(_ host: ServiceHost, _ reservations: Reservations) {
    host.whenWriter(
        "house", every: expiryPause,
        problem: "Expired reservations, what deleted products left or former names could not be cleared away."
    ) {
        let isMoreLeft = try await host.store.write { transaction in
            try reservations.forgetOld(in: transaction)
            return try reservations.expire(in: transaction)
        }
        let isMoreToRemove = try await host.store.write { try ProductRemoval.goOn(in: $0) }
        // Without old ids nothing is written.
        let areIdsLeft = try await host.store.write { try RequestClaims.removeExpired(in: $0) }
        let areNamesLeft = try await host.store.write { try AuthorRenames.goOn(in: $0) }
        return isMoreLeft || isMoreToRemove || areIdsLeft || areNamesLeft ? .more : .idle
    }
}
