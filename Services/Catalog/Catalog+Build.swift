import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Classes, rules and tables of the catalog.
package func catalogPlan(_ currency: Currency) -> ServicePlan {
    ServicePlan(
        name: "catalog",
        classes: [
            .category, .product, .inAppProduct, .productReview, .favoriteProduct, .store, .page, .requestClaim, .jobStatus,
            .jobSchedule,
        ],
        tables: ProductRatings.tables + Reservations.tables + Restocks.tables + ReviewReports.tables + HiddenAuthors.tables
            + ProductRemoval.tables + ConfigParameters.tables + FileTable.tables + HookDefinitions.tables
            + JobTables.tables,
        ownsUnknownClasses: true
    ) { host in
        let files = FileFolder(dataDirectory: host.configuration.dataDirectory)
        return [
            "Product": ProductRules(photos: ProductPhotos(store: host.store, folder: files), currency: currency),
            "ProductReview": ReviewRules(authors: ReviewAuthors(bus: host.bus)),
            "FavoriteProduct": FavoriteRules(), "Page": PageRules(),
            "_Product": InAppProductRules(files: PurchasedFiles(store: host.store, folder: files)),
            "_JobStatus": JobStatusRules(), "_JobSchedule": JobScheduleRules(jobs: catalogJobs),
        ]
    }
}

func buildCatalog(_ host: ServiceHost, _ routes: inout ServiceRoutes, _ currency: Currency) throws {
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
    routes.write("catalog.restock.v1", RestockRequest.self) { message, _, transaction in
        try Restocks.add(message, in: transaction)
        return try BusReply(Accepted())
    }
    routes.read("catalog.config.v1", ConfigRequest.self) { _, request, reader in
        try BusReply(ConfigReply(), documents: [ConfigParameters.answer(in: reader, caller: request.caller)])
    }
    routes.write("catalog.setConfig.v1", SetConfigRequest.self) { _, request, transaction in
        guard request.caller.isMaster else {
            throw ParseError(.operationForbidden, "Only the master key changes Config.")
        }
        try ConfigParameters.apply(request.document(), in: transaction)
        return try BusReply(Accepted())
    }
    routes.write("catalog.claimRequest.v1", ClaimRequest.self) { message, _, transaction in
        try RequestClaims.claim(message, in: transaction)
        return try BusReply(Accepted())
    }
    routes.write("catalog.releaseRequest.v1", ReleaseRequest.self) { message, _, transaction in
        try RequestClaims.release(message.requestID, in: transaction)
        return try BusReply(Accepted())
    }
    routes.write("catalog.userDeleted.v1", UserDeleted.self) { message, _, transaction in
        try ForgottenUser.forget(message.userID, in: transaction)
        return try BusReply(Accepted())
    }
    routes.function("nearestStores") { parameters, request in
        let search = try NearestStores(parameters)
        return try .result(await host.store.read { try search.find(in: $0, caller: request.caller) })
    }
    ReviewFunctions(host: host).install(in: &routes)
    keepHouse(host, reservations)
    let files = FileFolder(dataDirectory: host.configuration.dataDirectory)
    let keeper = installFiles(host, files, &routes)
    let purchasedFiles = PurchasedFiles(store: host.store, folder: files)
    host.whenWriter("purchases", every: .seconds(1), problem: "Files of products could not be made private.") {
        try await purchasedFiles.convert()
        return .finished
    }
    installHooks(&routes)
    installJobs(host, keeper, &routes)
}

/// Reservations live for a minute at least, so that a few seconds more do not matter.
private let expiryPause = Duration.seconds(3)

/// Returns stock of reservations that expired, and removes what deleted products left.
private func keepHouse(_ host: ServiceHost, _ reservations: Reservations) {
    host.whenWriter(
        "house", every: expiryPause,
        problem: "Expired reservations or what deleted products left could not be cleared away."
    ) {
        let isMoreLeft = try await host.store.write { transaction in
            try reservations.forgetOld(in: transaction)
            return try reservations.expire(in: transaction)
        }
        let isMoreToRemove = try await host.store.write { try ProductRemoval.goOn(in: $0) }
        // Without old ids nothing is written.
        let areIdsLeft = try await host.store.write { try RequestClaims.removeExpired(in: $0) }
        return isMoreLeft || isMoreToRemove || areIdsLeft ? .more : .idle
    }
}
