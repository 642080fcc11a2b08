// The library finds its algorithms by reflection metadata, and refuses to load before the polyfill of that.
import 'reflect-metadata'

export * from '@peculiar/x509'
